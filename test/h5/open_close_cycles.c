// H5open … H5close several times, with a store written and read in each; every other one closes nothing itself.
#include "check.h"

enum { kElems = 100 };

static void Write(hid_t file, int cycle) {
  const hsize_t extent = kElems, chunk = 10;
  int values[kElems];
  char name[32];
  snprintf(name, sizeof name, "d%d", cycle);
  for (int k = 0; k < kElems; ++k) values[k] = cycle * kElems + k;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 1, &chunk) >= 0 && H5Pset_deflate(properties, 3) >= 0);
  const hid_t dataset = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset >= 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  if (cycle % 2) CHECK(H5Dclose(dataset) >= 0);
}

static void Read(hid_t file, int cycle) {
  int values[kElems];
  char name[32];
  snprintf(name, sizeof name, "d%d", cycle);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset >= 0);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  for (int k = 0; k < kElems; ++k) CHECK(values[k] == cycle * kElems + k);
  if (cycle % 2) CHECK(H5Dclose(dataset) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const int cycles = atoi(argv[2]);
  for (int cycle = 0; cycle < cycles; ++cycle) {
    CHECK(H5open() >= 0);
    const hid_t file = cycle == 0 ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                                  : H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(file >= 0);
    Write(file, cycle);
    for (int earlier = 0; earlier <= cycle; ++earlier) Read(file, earlier);
    if (cycle % 2) CHECK(H5Fclose(file) >= 0);
    CHECK(H5close() >= 0);
  }
  puts("ok");
  return 0;
}
