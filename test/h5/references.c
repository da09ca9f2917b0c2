// References of HDF5 1.12 (H5T_STD_REF) and region references, written, and read in a process of its
// own: references.c write|read FILE.
#include <string.h>

#include "check.h"

static void write_file(const char* path) {
  const hsize_t dims[2] = {4, 6}, start[2] = {1, 2}, count[2] = {2, 3}, four = 4;
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t data = H5Dcreate2(file, "data", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(data >= 0);
  hid_t attribute = H5Acreate2(data, "units", H5T_STD_I8LE, space, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(attribute >= 0);

  H5R_ref_t refs[4];
  memset(refs, 0, sizeof refs);  // the last stays null
  CHECK(H5Rcreate_object(file, "/data", H5P_DEFAULT, &refs[0]) >= 0);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
  CHECK(H5Rcreate_region(file, "/data", space, H5P_DEFAULT, &refs[1]) >= 0);
  CHECK(H5Rcreate_attr(file, "/data", "units", H5P_DEFAULT, &refs[2]) >= 0);

  hid_t list = H5Screate_simple(1, &four, NULL);
  hid_t held = H5Dcreate2(file, "refs", H5T_STD_REF, list, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(held >= 0);
  CHECK(H5Dwrite(held, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs) >= 0);
  hid_t on_root = H5Acreate2(file, "refs", H5T_STD_REF, list, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(on_root >= 0 && H5Awrite(on_root, H5T_STD_REF, refs) >= 0);

  // The old kinds, which are read as H5T_STD_REF, too.
  hobj_ref_t object;
  hdset_reg_ref_t region;
  hid_t scalar = H5Screate(H5S_SCALAR);
  CHECK(H5Rcreate(&object, file, "/data", H5R_OBJECT, -1) >= 0);
  CHECK(H5Rcreate(&region, file, "/data", H5R_DATASET_REGION, space) >= 0);
  hid_t old_object = H5Dcreate2(file, "old_object", H5T_STD_REF_OBJ, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t old_region = H5Dcreate2(file, "old_region", H5T_STD_REF_DSETREG, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dwrite(old_object, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &object) >= 0);
  CHECK(H5Dwrite(old_region, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &region) >= 0);

  for (int i = 0; i < 3; ++i) CHECK(H5Rdestroy(&refs[i]) >= 0);
  CHECK(H5Dclose(old_object) >= 0 && H5Dclose(old_region) >= 0 && H5Aclose(on_root) >= 0);
  CHECK(H5Dclose(held) >= 0 && H5Aclose(attribute) >= 0 && H5Dclose(data) >= 0);
  CHECK(H5Sclose(space) >= 0 && H5Sclose(list) >= 0 && H5Sclose(scalar) >= 0 && H5Fclose(file) >= 0);
}

static void check_object(H5R_ref_t* ref) {
  char name[64] = "";
  CHECK(H5Rget_obj_name(ref, H5P_DEFAULT, name, sizeof name) > 0 && strcmp(name, "/data") == 0);
  hid_t object = H5Ropen_object(ref, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(object >= 0 && H5Iget_type(object) == H5I_DATASET && H5Dclose(object) >= 0);
}

static void check_region(H5R_ref_t* ref) {
  hsize_t first[2], last[2];
  hid_t space = H5Ropen_region(ref, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(space >= 0 && H5Sget_select_npoints(space) == 6);
  CHECK(H5Sget_select_bounds(space, first, last) >= 0);
  CHECK(first[0] == 1 && first[1] == 2 && last[0] == 2 && last[1] == 4);
  CHECK(H5Sclose(space) >= 0);
}

static void check_refs(H5R_ref_t refs[4]) {
  const H5R_ref_t null = {0};
  CHECK(H5Rget_type(&refs[0]) == H5R_OBJECT2 && H5Rget_type(&refs[1]) == H5R_DATASET_REGION2);
  CHECK(H5Rget_type(&refs[2]) == H5R_ATTR && memcmp(&refs[3], &null, sizeof null) == 0);
  check_object(&refs[0]);
  check_object(&refs[1]);
  check_region(&refs[1]);
  char name[64] = "";
  CHECK(H5Rget_attr_name(&refs[2], name, sizeof name) > 0 && strcmp(name, "units") == 0);
  hid_t attribute = H5Ropen_attr(&refs[2], H5P_DEFAULT, H5P_DEFAULT);
  CHECK(attribute >= 0 && H5Aclose(attribute) >= 0);
  for (int i = 0; i < 3; ++i) CHECK(H5Rdestroy(&refs[i]) >= 0);
}

static void read_file(const char* path) {
  H5R_ref_t refs[4], one;
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  hid_t held = H5Dopen2(file, "refs", H5P_DEFAULT);
  CHECK(held >= 0 && H5Dread(held, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs) >= 0);
  check_refs(refs);
  hid_t on_root = H5Aopen(file, "refs", H5P_DEFAULT);
  CHECK(on_root >= 0 && H5Aread(on_root, H5T_STD_REF, refs) >= 0);
  check_refs(refs);
  hid_t old = H5Dopen2(file, "old_object", H5P_DEFAULT);
  CHECK(old >= 0 && H5Dread(old, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one) >= 0);
  check_object(&one);
  CHECK(H5Rdestroy(&one) >= 0 && H5Dclose(old) >= 0);
  old = H5Dopen2(file, "old_region", H5P_DEFAULT);
  CHECK(old >= 0 && H5Dread(old, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one) >= 0);
  check_region(&one);
  CHECK(H5Rdestroy(&one) >= 0 && H5Dclose(old) >= 0);
  CHECK(H5Dclose(held) >= 0 && H5Aclose(on_root) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  if (strcmp(argv[1], "write") == 0) write_file(argv[2]);
  else read_file(argv[2]);
  puts("ok");
  return 0;
}
