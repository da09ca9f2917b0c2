// Event sets: transfers that go on while the program does something else. `async STORE`.
#include <string.h>
#include <unistd.h>

#include "check.h"

#define ROWS 64
#define COLUMNS 65536

static int values[ROWS][COLUMNS], back[ROWS][COLUMNS];

static void fill(int seed) {
  for (int row = 0; row < ROWS; ++row) {
    for (int column = 0; column < COLUMNS; ++column) values[row][column] = seed + row * 7 + column;
  }
}

static hid_t create_dataset(hid_t file, const char* name) {
  const hsize_t extent[2] = {ROWS, COLUMNS}, chunk[2] = {8, COLUMNS};
  const hid_t space = H5Screate_simple(2, extent, NULL);
  const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(dcpl, 2, chunk) >= 0 && H5Pset_deflate(dcpl, 1) >= 0);
  const hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
  CHECK(dataset >= 0);
  H5Pclose(dcpl);
  H5Sclose(space);
  return dataset;
}

static void wait_for(hid_t events, uint64_t timeout, size_t expected_left) {
  size_t left = 99;
  hbool_t failed = 1;
  CHECK(H5ESwait(events, timeout, &left, &failed) >= 0);
  CHECK(left == expected_left && !failed);
}

static void check_back(void) { CHECK(memcmp(values, back, sizeof values) == 0); }

// The outcome of a transfer is there when the event set, the dataset or the file says so.
static void transfers(hid_t file, hid_t events) {
  hid_t dataset = create_dataset(file, "a");
  fill(1);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, events) >= 0);
  size_t count = 0;
  CHECK(H5ESget_count(events, &count) >= 0 && count == 1);  // it is in the background
  CHECK(H5Dread_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back, events) >= 0);
  wait_for(events, H5ES_WAIT_FOREVER, 0);
  check_back();

  memset(back, 0, sizeof back);
  CHECK(H5Dread_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back, events) >= 0);
  CHECK(H5Dclose(dataset) >= 0);
  check_back();
  wait_for(events, H5ES_WAIT_FOREVER, 0);

  dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  fill(2);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, events) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  wait_for(events, 0, 0);  // nothing is left to wait for
  // A synchronous read sees what was begun before it.
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
  check_back();

  // A conversion needs HDF5 itself: done within the call, and right all the same.
  static double doubles[ROWS][COLUMNS];
  CHECK(H5Dread_async(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, doubles, events) >= 0);
  wait_for(events, H5ES_WAIT_FOREVER, 0);
  CHECK(doubles[5][17] == values[5][17] && doubles[63][65535] == values[63][65535]);
  CHECK(H5Dclose_async(dataset, events) >= 0);
  wait_for(events, H5ES_WAIT_FOREVER, 0);
}

// A failure in the background is the event set's to tell.
static void failure(hid_t file, const char* store) {
  const hid_t events = H5EScreate();  // one that had a failure takes no more
  const hid_t dataset = create_dataset(file, "b");
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  // A folder where the first chunk belongs.
  char chunk[4096];
  snprintf(chunk, sizeof chunk, "mkdir -p '%s/b/c/0/0/in_the_way'", store);
  CHECK(system(chunk) == 0);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, events) >= 0);
  size_t left = 0, failures = 0, cleared = 0;
  hbool_t failed = 0;
  CHECK(H5ESwait(events, H5ES_WAIT_FOREVER, &left, &failed) >= 0);
  CHECK(failed && left == 0);
  CHECK(H5ESget_err_count(events, &failures) >= 0 && failures == 1);
  H5ES_err_info_t info;
  CHECK(H5ESget_err_info(events, 1, &info, &cleared) >= 0 && cleared == 1);
  CHECK(strcmp(info.api_name, "H5Dwrite_async") == 0);
  CHECK(H5Eget_num(info.err_stack_id) > 0);
  CHECK(H5Eclose_stack(info.err_stack_id) >= 0);
  H5free_memory(info.api_name);
  H5free_memory(info.api_args);
  H5free_memory(info.app_file_name);
  H5free_memory(info.app_func_name);
  snprintf(chunk, sizeof chunk, "rm -r '%s/b/c/0'", store);
  CHECK(system(chunk) == 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Dclose(dataset) >= 0);
  CHECK(H5ESclose(events) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const hid_t events = H5EScreate();
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0 && events >= 0);
  transfers(file, events);
  failure(file, argv[1]);

  // Everything is closed before anything is waited for.
  hid_t dataset = create_dataset(file, "c");
  fill(3);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, events) >= 0);
  CHECK(H5Dclose_async(dataset, events) >= 0);
  CHECK(H5Fclose_async(file, events) >= 0);
  wait_for(events, H5ES_WAIT_FOREVER, 0);

  file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  dataset = H5Dopen2(file, "c", H5P_DEFAULT);
  memset(back, 0, sizeof back);
  CHECK(H5Dread_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back, events) >= 0);
  CHECK(H5Dclose_async(dataset, events) >= 0);
  CHECK(H5Fclose(file) >= 0);
  check_back();
  wait_for(events, H5ES_WAIT_FOREVER, 0);
  CHECK(H5ESclose(events) >= 0);
  printf("ok\n");
  return 0;
}
