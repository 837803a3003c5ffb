/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, measuring and printing of a benchmark: see bench/runner.h. */
#include "bench/runner.h"

int peali_runner_run(const struct peali_runner *runner, int json)
{
	int status = PEALI_EXIT_OK;

	if (peali_fixture_open(runner->fixture,
			       runner->devices ? runner->devices : 2))
		return PEALI_EXIT_FAILED;
	peali_report_init(runner->report, runner->benchmark,
			  runner->fixture->no_gpus);
	if ((runner->rows ? runner->rows(runner->context) :
			    runner->each_row(runner->context, 0)) < 0)
		status = PEALI_EXIT_FAILED;
	if (peali_fixture_close(runner->fixture))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(runner->report, json, runner->title,
				    runner->columns, status);
	peali_report_fini(runner->report);
	return status;
}

int peali_runner_main(const struct peali_runner *runner, int argc, char **argv,
		      int json)
{
	peali_bench_parse(argc, argv, runner->about, runner->seconds,
			  runner->options);
	*runner->n_rows = runner->each_row(runner->context, 1);
	if (!*runner->n_rows)
		return peali_bench_refuse(runner->benchmark, runner->options);
	*runner->row_ns =
		(uint64_t)(runner->options->seconds * 1e9 / *runner->n_rows);
	return peali_runner_run(runner, json);
}

int peali_runner_row(const struct peali_runner_row *row)
{
	struct peali_samples ours = { 0 }, peer = { 0 };
	uint64_t until = peali_bench_now_ns() + row->for_ns;
	int result;

	peali_fixture_fit_lanes(row->fixture, row->bytes);
	result = row->build(row->context);
	for (int i = 0; !result && (i < PEALI_RUNNER_ROUNDS ||
				    peali_bench_now_ns() < until);
	     i++)
		result = row->round(row->context, &ours, &peer);
	if (!result) {
		row->fill(row->context, &ours, &peer);
		result = peali_samples_write(&ours, row->options,
					     row->benchmark, row->label,
					     row->alone);
	}
	if (row->close && row->close(row->context))
		result = -1;
	if (peali_fixture_clear(row->fixture))
		result = -1;
	peali_samples_fini(&ours);
	peali_samples_fini(&peer);
	return result;
}
