// A save that fails makes H5Fclose fail, also with H5F_CLOSE_STRONG; the file stays open and a retry saves.
#include <signal.h>
#include <sys/resource.h>

#include "check.h"

static void LimitFileSize(rlim_t bytes) {
  const struct rlimit limit = {bytes, RLIM_INFINITY};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  signal(SIGXFSZ, SIG_IGN);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t extent = 100000, chunk = 50000, at = 7, one_elem = 1;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t one = H5Screate_simple(1, &one_elem, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 1, &chunk) >= 0);
  const hid_t dataset = H5Dcreate2(file, "d", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  double value = 1.5;
  CHECK(H5Sselect_elements(space, H5S_SELECT_SET, 1, &at) >= 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, &value) >= 0);

  LimitFileSize(1000);
  herr_t closed = 0;
  H5E_BEGIN_TRY { closed = H5Fclose(file); }
  H5E_END_TRY
  CHECK(closed < 0 && H5Iis_valid(file) > 0);
  LimitFileSize(RLIM_INFINITY);
  CHECK(H5Fclose(file) >= 0);
  CHECK(H5Iis_valid(dataset) <= 0);

  const hid_t again = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t saved = H5Dopen2(again, "d", H5P_DEFAULT);
  value = 0;
  CHECK(H5Dread(saved, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, &value) >= 0 && value == 1.5);
  puts("ok");
  return 0;
}
