// A program that ends with everything open: `write`, then, in another process, `read`.
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const hsize_t extent = 100;
  int values[100];
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  if (strcmp(argv[2], "write") == 0) {
    const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t dataset = H5Dcreate2(file, "d", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < 100; ++k) values[k] = 3 * k;
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    CHECK(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  } else {
    const hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    for (int k = 0; k < 100; ++k) CHECK(values[k] == 3 * k);
    CHECK(H5Lexists(file, "g", H5P_DEFAULT) > 0);
  }
  puts("ok");
  return 0;
}
