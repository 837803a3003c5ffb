/* SPDX-License-Identifier: Apache-2.0 */
#include "front_cuda.h"

/* Recorded launches of the double of libcuda.so.1, see cuda.c. */

int double_cuda_capture_begin(struct double_stream *stream, int mode)
{
	CALL("cuStreamBeginCapture");
	NEED_CONTEXT();
	return mode == 1 ? double_capture_begin(stream) : DOUBLE_INVALID;
}

/* Ends the recording also if the call fails, as the driver does. */
int double_cuda_capture_end(struct double_stream *stream,
			    struct double_graph **out)
{
	int error = double_call("cuStreamEndCapture");

	NEED_CONTEXT();
	double_capture_end(stream, out);
	if (error) {
		double_graph_destroy(*out);
		*out = NULL;
	}
	return error;
}

int double_cuda_graph_instantiate(struct double_graph **out,
				  struct double_graph *graph,
				  unsigned long long flags)
{
	CALL("cuGraphInstantiateWithFlags");
	NEED_CONTEXT();
	return flags ? DOUBLE_INVALID : double_graph_instantiate(out, graph);
}

int double_cuda_graph_destroy(struct double_graph *graph)
{
	CALL("cuGraphDestroy");
	return double_graph_destroy(graph);
}

int double_cuda_graph_upload(struct double_graph *executable,
			     struct double_stream *stream)
{
	CALL("cuGraphUpload");
	NEED_CONTEXT();
	return executable ? double_stream_query(stream) : DOUBLE_INVALID;
}

int double_cuda_graph_launch(struct double_graph *executable,
			     struct double_stream *stream)
{
	CALL("cuGraphLaunch");
	NEED_CONTEXT();
	return double_graph_launch(executable, stream);
}

int double_cuda_executable_destroy(struct double_graph *executable)
{
	CALL("cuGraphExecDestroy");
	return double_graph_destroy(executable);
}
