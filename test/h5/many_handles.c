// A program that ends, or closes the library, with a file opened several times and everything still open:
// each handle's changes are there afterwards. Usage: many_handles FILE HANDLES exit|h5close|read [CLOSE_DEGREE]
#include <stdlib.h>
#include <string.h>

#include "check.h"

static hid_t access_list(const char* degree) {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

  if (degree != NULL)
    CHECK(H5Pset_fclose_degree(fapl, strcmp(degree, "strong") == 0 ? H5F_CLOSE_STRONG
                                     : strcmp(degree, "semi") == 0 ? H5F_CLOSE_SEMI
                                                                   : H5F_CLOSE_WEAK) >= 0);
  return fapl;
}

static void write_all(const char* name, int handles, const char* degree) {
  const hsize_t extent = 100, chunk = 30;
  const hid_t fapl = access_list(degree);
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
  hid_t file, dataset, attribute;
  int k, values[100];
  char path[20];

  CHECK(H5Pset_chunk(dcpl, 1, &chunk) >= 0);
  CHECK((file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)) >= 0);
  CHECK(H5Fclose(file) >= 0);
  for (k = 0; k < handles; ++k) {
    CHECK((file = H5Fopen(name, H5F_ACC_RDWR, fapl)) >= 0);
    snprintf(path, sizeof path, "d%d", k);
    CHECK((dataset = H5Dcreate2(file, path, H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT)) >= 0);
    for (int j = 0; j < 100; ++j) values[j] = k * 1000 + j;
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK((attribute = H5Acreate2(dataset, "k", H5T_STD_I32LE, H5Screate(H5S_SCALAR), H5P_DEFAULT, H5P_DEFAULT)) >= 0);
    CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &k) >= 0);
    if (k % 2 == 0) CHECK(H5Iinc_ref(file) == 2);
    if (k % 3 == 0) CHECK(H5Dclose(dataset) >= 0);
  }
}

static void read_all(const char* name, int handles) {
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  char path[20];

  for (int k = 0; k < handles; ++k) {
    int values[100], stored;
    hid_t dataset, attribute;

    snprintf(path, sizeof path, "d%d", k);
    CHECK((dataset = H5Dopen2(file, path, H5P_DEFAULT)) >= 0);
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int j = 0; j < 100; ++j) CHECK(values[j] == k * 1000 + j);
    CHECK((attribute = H5Aopen(dataset, "k", H5P_DEFAULT)) >= 0);
    CHECK(H5Aread(attribute, H5T_NATIVE_INT, &stored) >= 0 && stored == k);
  }
}

int main(int argc, char** argv) {
  CHECK(argc >= 4);
  if (strcmp(argv[3], "read") == 0) read_all(argv[1], atoi(argv[2]));
  else write_all(argv[1], atoi(argv[2]), argc > 4 ? argv[4] : NULL);
  if (strcmp(argv[3], "h5close") == 0) CHECK(H5close() >= 0);
  puts("ok");
  return EXIT_SUCCESS;
}
