// A file by an access list that names the connector with settings of its own: NAME SETTINGS read prints the sum of
// dataset "a"; NAME SETTINGS write makes it, and beside it the file NAME.plain by the default access list.
#include <h5zarr/h5zarr.h>
#include <string.h>

#include "check.h"

static hid_t Access(const char* settings) {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_h5zarr(fapl, settings) >= 0);
  return fapl;
}

static long long Sum(hid_t file) {
  const hid_t dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  const hssize_t elems = H5Sget_simple_extent_npoints(space);
  CHECK(elems >= 0);
  int* const values = malloc((size_t)elems * sizeof(int));
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  long long sum = 0;
  for (hssize_t i = 0; i < elems; ++i) sum += values[i];
  free(values);
  CHECK(H5Sclose(space) >= 0 && H5Dclose(dataset) >= 0);
  return sum;
}

static void Make(const char* name, hid_t fapl) {
  const hsize_t elems = 4;
  const int values[] = {1, 2, 3, 4};
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  CHECK(file >= 0);
  const hid_t space = H5Screate_simple(1, &elems, NULL);
  const hid_t dataset = H5Dcreate2(file, "a", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 4);
  const hid_t fapl = Access(argv[2]);
  if (strcmp(argv[3], "write") == 0) {
    char plain[4096];
    snprintf(plain, sizeof plain, "%s.plain", argv[1]);
    Make(argv[1], fapl);
    Make(plain, H5P_DEFAULT);
    CHECK(H5Pclose(fapl) >= 0);
    puts("ok");
    return 0;
  }
  const hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, fapl);
  if (file < 0) return 1;  // HDF5 has said why
  printf("%lld\n", Sum(file));
  CHECK(H5Fclose(file) >= 0 && H5Pclose(fapl) >= 0);
  return 0;
}
