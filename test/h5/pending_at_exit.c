// A program that ends, or closes the library, while its file, a dataset and an attribute's change are
// open or pending: everything is saved. Usage: pending_at_exit STORE exit|h5close
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  int value = 27;
  hid_t file, space, dataset, attribute, group;

  CHECK(argc == 3);
  CHECK((file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  CHECK((space = H5Screate(H5S_SCALAR)) >= 0);
  CHECK((group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  CHECK((dataset = H5Dcreate2(group, "d", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0);
  CHECK((attribute = H5Acreate2(dataset, "k", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
  if (strcmp(argv[2], "h5close") == 0) CHECK(H5close() >= 0);
  puts("ok");
  return EXIT_SUCCESS;
}
