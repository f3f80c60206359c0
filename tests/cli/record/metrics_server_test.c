/*
 * What a client of the metrics gets
 */
#include "cli/record/metrics_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/test.h"

TEST(only_reading_the_metrics_is_answered)
{
	static const struct {
		const char *request;
		int status, body;
	} rows[] = {
		{ "", 0, 0 },
		{ "GET /metrics HTTP/1.1\r\n", 0, 0 },
		{ "GET /metrics HTTP/1.1\r\n\r\n", 200, 1 },
		{ "GET / HTTP/1.0\n\n", 200, 1 },
		{ "GET /metrics?x=1 HTTP/1.1\r\n\r\n", 200, 1 },
		{ "HEAD /metrics HTTP/1.1\r\n\r\n", 200, 0 },
		{ "GET /metricsx HTTP/1.1\r\n\r\n", 404, 0 },
		{ "GET http://x/metrics HTTP/1.1\r\n\r\n", 404, 0 },
		{ "POST /metrics HTTP/1.1\r\n\r\n", 405, 0 },
		{ "get /metrics\r\n\r\n", 405, 0 },
		{ "\r\n\r\n", 405, 0 },
		{ "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n", 200, 1 },
		{ "GET /metrics HTTP/1.1\r\nhost:localhost\r\n\r\n", 200, 1 },
		{ "GET /metrics HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", 200, 1 },
		{ "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, 0 },
		{ "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil\r\n\r\n", 403, 0 },
		{ "GET /metrics HTTP/1.1\r\nA: b\r\nHost: localhost.evil\r\n\r\n", 403, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int body = -1;

		assert_int_equal(
			metrics_server_answer(rows[i].request, strlen(rows[i].request), &body),
			rows[i].status);
		assert_int_equal(body, rows[i].body);
	}
}

TEST(request_has_an_end)
{
	static char request[1 << 16];
	int body;

	memset(request, 'a', sizeof(request));
	assert_int_equal(metrics_server_answer(request, sizeof(request), &body), 400);
	assert_int_equal(metrics_server_answer("GET\0/", 5, &body), 400);
}

TEST(last_text_is_the_one_that_is_read)
{
	struct metrics_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *texts[] = { "one", "and two", "3" };
	size_t n;
	char *text;

	assert_ptr_not_equal(page, MAP_FAILED);
	for (size_t i = 0; i < 3; i++) {
		metrics_page_put(page, texts[i], strlen(texts[i]));
		text = metrics_page_get(page, &n);
		assert_int_equal(n, strlen(texts[i]));
		assert_memory_equal(text, texts[i], n);
		free(text);
	}
	munmap(page, sizeof(*page));
}
