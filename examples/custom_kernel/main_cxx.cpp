// SPDX-License-Identifier: Apache-2.0
// Shows a program outside of Peal's source tree, in C++. Runs the handler of
// scale.c on a device: sends three numbers to an actor and prints the products.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <peal/device/kernel.h>
#include <peal/peal.h>

PEAL_DECLARE_PROGRAM(scaler);

namespace
{

constexpr int64_t second = 1000000000;

// Throws Peal's error text if `result` is a negative error code.
void check(int result)
{
	if (result < 0)
		throw std::runtime_error(std::string(peal_error_name(result)) +
					 ": " + peal_last_error()->text);
}

// A runtime that shuts down with its scope.
class runtime
{
      public:
	runtime()
	{
		check(peal_runtime_open(nullptr, &handle));
	}
	~runtime()
	{
		peal_runtime_shutdown(handle);
	}
	runtime(const runtime &) = delete;
	runtime &operator=(const runtime &) = delete;

	peal_runtime *handle = nullptr;
};

// Launches the kernel and spawns an actor with the factor in its state. Links
// the actor with the host in both directions. Returns the actor's answer.
std::vector<float> scale(peal_runtime *rt, float factor,
			 const std::vector<float> &in)
{
	peal_actor_options options = {};
	std::vector<float> out(in.size());
	peal_endpoint *host;
	peal_kernel *kernel;
	peal_received received;
	uint64_t actor;

	options.size = sizeof(options);
	options.init = &factor;
	options.init_bytes = sizeof(factor);
	check(peal_endpoint_create(rt, nullptr, &host));
	check(peal_kernel_launch(rt, 0, &peal_program_scaler, nullptr,
				 &kernel));
	check(peal_actor_spawn(kernel, "scale", &options, &actor));
	check(peal_connect(rt, peal_endpoint_address(host), 0, actor, nullptr,
			   nullptr));
	check(peal_connect(rt, actor, 0, peal_endpoint_address(host), nullptr,
			   nullptr));
	check(peal_send(host, 0, 0, in.data(), in.size() * sizeof(float),
			second, NULL));
	check(peal_receive(host, out.data(), out.size() * sizeof(float),
			   &received, second));
	return out;
}

} // namespace

int main()
{
	try {
		const runtime rt;
		const std::vector<float> in = { 1, 2, 3 };
		const std::vector<float> out = scale(rt.handle, 2.5f, in);

		for (size_t i = 0; i < in.size(); i++) {
			std::printf("%g times 2.5 is %g\n", in[i], out[i]);
			if (out[i] != in[i] * 2.5f)
				return 1;
		}
	} catch (const std::exception &error) {
		std::fprintf(stderr, "custom_kernel_cxx: %s\n", error.what());
		return 1;
	}
	return 0;
}
