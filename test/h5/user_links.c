// Links of a class that the program defines: user_links write|change|read|read_unregistered FILE.
// All that is read goes to stdout, for comparison with what the same program says of an HDF5 file.
#include <string.h>

#include "check.h"

// The classes: one that leads to the path in its value and tells that value, one that tells nothing.
enum { kPathClass = 187, kSilentClass = 188 };

static hid_t follow(const char* name, hid_t group, const void* value, size_t bytes, hid_t lapl, hid_t dxpl) {
  (void)name, (void)bytes, (void)dxpl;
  return H5Oopen(group, value, lapl);
}

static ssize_t query(const char* name, const void* value, size_t bytes, void* buffer, size_t buffer_bytes) {
  (void)name;
  if (buffer != NULL) memcpy(buffer, value, bytes < buffer_bytes ? bytes : buffer_bytes);
  return (ssize_t)bytes;
}

static void register_classes(void) {
  H5L_class_t path_class = {
      H5L_LINK_CLASS_T_VERS, (H5L_type_t)kPathClass, "path", NULL, NULL, NULL, follow, NULL, query};
  H5L_class_t silent_class = {
      H5L_LINK_CLASS_T_VERS, (H5L_type_t)kSilentClass, "silent", NULL, NULL, NULL, follow, NULL, NULL};
  CHECK(H5Lregister(&path_class) >= 0 && H5Lregister(&silent_class) >= 0);
}

static void write_file(const char* path) {
  register_classes();
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t target = H5Gcreate2(file, "g/target", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(group >= 0 && target >= 0);
  CHECK(H5Lcreate_ud(file, "root_link", (H5L_type_t)kPathClass, "/g/target", 10, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcreate_ud(group, "bytes", (H5L_type_t)kPathClass, "a\0\xff\n", 5, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcreate_ud(group, "empty", (H5L_type_t)kPathClass, NULL, 0, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcreate_ud(group, "silent", (H5L_type_t)kSilentClass, "target", 7, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcreate_ud(group, "gone", (H5L_type_t)kPathClass, "x", 2, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Gclose(target) >= 0 && H5Gclose(group) >= 0 && H5Fclose(file) >= 0);
}

static void change_file(const char* path) {
  register_classes();
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  CHECK(file >= 0);
  CHECK(H5Ldelete(file, "g/gone", H5P_DEFAULT) >= 0);
  CHECK(H5Lmove(file, "g/bytes", file, "moved", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcopy(file, "g/silent", file, "g/silent_too", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Ocopy(file, "g", file, "copy", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Fclose(file) >= 0);
}

static herr_t describe(hid_t root, const char* name, const H5L_info2_t* info, void* data) {
  (void)data;
  printf("%s %d", name, (int)info->type);
  if (info->type >= H5L_TYPE_UD_MIN) {
    unsigned char value[64] = {0};
    printf(" size %d value", (int)info->u.val_size);
    CHECK(H5Lget_val(root, name, value, sizeof value, H5P_DEFAULT) >= 0);
    for (size_t i = 0; i < info->u.val_size; ++i) printf(" %02x", value[i]);
    hid_t object = -1;
    H5E_BEGIN_TRY { object = H5Oopen(root, name, H5P_DEFAULT); }
    H5E_END_TRY
    printf(" opens %d", object >= 0);
    if (object >= 0) CHECK(H5Oclose(object) >= 0);
    H5E_BEGIN_TRY { printf(" exists %d", (int)H5Oexists_by_name(root, name, H5P_DEFAULT)); }
    H5E_END_TRY
  }
  printf("\n");
  return 0;
}

static void read_file(const char* path) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  CHECK(H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, describe, NULL) >= 0);
  CHECK(H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  if (strcmp(argv[1], "write") == 0) {
    write_file(argv[2]);
  } else if (strcmp(argv[1], "change") == 0) {
    change_file(argv[2]);
  } else {
    if (strcmp(argv[1], "read") == 0) register_classes();
    read_file(argv[2]);
  }
  puts("ok");
  return 0;
}
