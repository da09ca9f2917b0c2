/* The least that a read over HTTP can cost: fetches what it is told through libcurl's multi interface, many requests
 * at once, into memory, and does nothing with it. For test/bench/remote.py.
 *
 *     fetch_only CONNECTIONS < list     (lines: URL FIRST LAST; of whole objects FIRST is "-" and LAST their bytes)
 *
 * Prints the seconds that it took, its CPU seconds, and the bytes. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct item {
  char url[512];
  char range[64]; /* empty: the whole object */
  char* memory;
  size_t bytes, at;
};

static size_t take(char* data, size_t size, size_t count, void* user) {
  struct item* item = user;
  if (item->at + size * count > item->bytes) return 0;
  memcpy(item->memory + item->at, data, size * count);
  item->at += size * count;
  return size * count;
}

static void start(CURLM* multi, CURL* handle, struct item* item) {
  curl_easy_setopt(handle, CURLOPT_URL, item->url);
  curl_easy_setopt(handle, CURLOPT_RANGE, item->range[0] ? item->range : NULL);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, item);
  curl_easy_setopt(handle, CURLOPT_PRIVATE, item);
  curl_multi_add_handle(multi, handle);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static size_t read_list(struct item** items) {
  size_t count = 0;
  struct item next = {.at = 0};
  char first[32], last[32];
  *items = NULL;
  while (scanf("%511s %31s %31s", next.url, first, last) == 3) {
    const int whole = first[0] == '-';
    next.range[0] = '\0';
    if (!whole) snprintf(next.range, sizeof next.range, "%s-%s", first, last);
    next.bytes = (size_t)(whole ? atoll(last) : atoll(last) - atoll(first) + 1);
    next.memory = malloc(next.bytes);
    *items = realloc(*items, (count + 1) * sizeof next);
    if (*items == NULL || next.memory == NULL) exit(1);
    (*items)[count++] = next;
  }
  return count;
}

int main(int argc, char** argv) {
  struct item* items;
  const int connections = argc > 1 ? atoi(argv[1]) : 32;
  const size_t count = read_list(&items);
  size_t next = 0, done = 0, bytes = 0;
  curl_global_init(CURL_GLOBAL_ALL);
  CURLM* const multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections);
  const double begin = now(), cpu_begin = cpu();
  for (; next < count && next < (size_t)connections; ++next) {
    CURL* const handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    start(multi, handle, &items[next]);
  }
  while (done < count) {
    int running = 0, left = 0;
    CURLMsg* message;
    curl_multi_perform(multi, &running);
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
      struct item* item = NULL;
      CURL* const handle = message->easy_handle;
      curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char**)&item);
      if (message->data.result != CURLE_OK || item->at != item->bytes) {
        fprintf(stderr, "%s %s: %s\n", item->url, item->range, curl_easy_strerror(message->data.result));
        return 1;
      }
      bytes += item->at;
      ++done;
      curl_multi_remove_handle(multi, handle);
      if (next < count) start(multi, handle, &items[next++]);
    }
    if (done < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  printf("%.6f %.6f %zu\n", now() - begin, cpu() - cpu_begin, bytes);
  return 0;
}
