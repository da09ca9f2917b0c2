/* Files mounted on one another, as H5Fmount says. Usage: mounts PARENT CHILD GRANDCHILD. Prints what HDF5
 * says of each step, which must not depend on what kinds of file these are. */
#include <string.h>

#include "check.h"

static void make_group(hid_t at, const char* name) {
  CHECK(H5Gclose(H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
}

static void make_dataset(hid_t at, const char* name, int value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t dataset = H5Dcreate2(at, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0);
  CHECK(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0);
}

static void set_attribute(hid_t at, const char* object, const char* name, int value) {
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t attribute =
      H5Acreate_by_name(at, object, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
  CHECK(H5Aclose(attribute) >= 0 && H5Sclose(space) >= 0);
}

/* What there is at a path: its name, its value where it is a dataset. */
static void show(const char* label, hid_t at, const char* path) {
  char name[100] = "";
  int value = -1;
  hid_t object;
  H5E_BEGIN_TRY { object = H5Oopen(at, path, H5P_DEFAULT); }
  H5E_END_TRY
  if (object < 0) {
    printf("%s %s: nothing\n", label, path);
    return;
  }
  CHECK(H5Iget_name(object, name, sizeof name) >= 0);
  if (H5Iget_type(object) == H5I_DATASET)
    CHECK(H5Dread(object, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0);
  printf("%s %s: %s %d, %d attributes\n", label, path, name, value, (int)H5Aget_num_attrs(object));
  CHECK(H5Oclose(object) >= 0);
}

static void show_name(const char* label, hid_t object) {
  char name[100] = "";
  CHECK(H5Iget_name(object, name, sizeof name) >= 0);
  printf("%s is called %s\n", label, name);
}

static const char* files[3];

/* Which of the files this is. */
static int number_of(hid_t object) {
  char name[1000];
  int i;
  CHECK(H5Fget_name(object, name, sizeof name) >= 0);
  for (i = 0; i < 3; ++i)
    if (strcmp(name, files[i]) == 0) return i;
  return -1;
}

static herr_t print_visited(hid_t group, const char* name, const H5O_info2_t* info, void* data) {
  (void)group;
  (void)data;
  printf("  %s %d\n", name, (int)info->type);
  return 0;
}

static herr_t print_link(hid_t group, const char* name, const H5L_info2_t* info, void* data) {
  (void)group;
  (void)data;
  printf("  %s %d\n", name, (int)info->type);
  return 0;
}

static hid_t open_with(const char* name, unsigned flags, H5F_close_degree_t degree) {
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  hid_t file;
  CHECK(H5Pset_fclose_degree(fapl, degree) >= 0);
  file = H5Fopen(name, flags, fapl);
  CHECK(file >= 0 && H5Pclose(fapl) >= 0);
  return file;
}

static void make_files(void) {
  int i;
  for (i = 0; i < 3; ++i) {
    const hid_t file = H5Fcreate(files[i], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    make_group(file, "g");
    make_group(file, "g/deep");
    make_dataset(file, "g/own", i);
    make_group(file, "m");
    make_dataset(file, "m/hidden", 10 + i);
    CHECK(H5Lcreate_hard(file, "m", H5L_SAME_LOC, "hard", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Lcreate_soft("m/g/own", file, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Lcreate_soft("/m/m", file, "top", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Lcreate_soft("/g/own", file, "root", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    CHECK(H5Fclose(file) >= 0);
  }
}

static void paths(H5F_close_degree_t degree) {
  const hid_t parent = open_with(files[0], H5F_ACC_RDWR, degree);
  hid_t child = open_with(files[1], H5F_ACC_RDWR, degree);
  hid_t grand = open_with(files[2], H5F_ACC_RDWR, degree);
  const hid_t before = H5Gopen2(child, "g", H5P_DEFAULT);
  hid_t group, again;
  H5O_info2_t info, other;
  CHECK(H5Fmount(parent, "m", child, H5P_DEFAULT) >= 0);
  CHECK(H5Fmount(child, "/m/m", grand, H5P_DEFAULT) >= 0);
  show_name("opened before", before);
  show("parent", parent, "m");
  show("parent", parent, "m/g/own");
  show("parent", parent, "/m/m/g/own");
  show("parent", parent, "hard/g/own");
  show("parent", parent, "soft");
  show("parent", parent, "m/soft");
  show("parent", parent, "top/g/own");
  show("parent", parent, "m/root");
  show("parent", parent, "m/m/root");
  show("parent", parent, "m/hidden");
  show("child", child, "g/own");
  show("child", child, "/m/g/own");
  show("grandchild", grand, "m/m/g/own");
  show("before", before, "own");
  show("before", before, "/g/own");
  printf("of file %d %d %d\n", number_of(before), number_of(child), number_of(grand));
  group = H5Gopen2(parent, "m/m/g", H5P_DEFAULT);
  CHECK(group >= 0);
  show_name("opened through mounts", group);
  printf("of file %d\n", number_of(group));
  CHECK(H5Oget_info3(group, &info, H5O_INFO_BASIC) >= 0);
  CHECK(H5Oget_info_by_name3(child, "m/m/g", &other, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
  printf("same %d\n", info.fileno == other.fileno && memcmp(&info.token, &other.token, sizeof info.token) == 0);
  again = H5Iget_file_id(group);
  CHECK(again >= 0);
  printf("its file: %d, objects open %d\n", number_of(again), (int)H5Fget_obj_count(again, H5F_OBJ_GROUP));
  CHECK(H5Fclose(again) >= 0);
  puts("visit");
  CHECK(H5Ovisit3(parent, H5_INDEX_NAME, H5_ITER_INC, print_visited, NULL, H5O_INFO_BASIC) >= 0);
  puts("links");
  CHECK(H5Literate_by_name2(child, "m", H5_INDEX_NAME, H5_ITER_INC, NULL, print_link, NULL, H5P_DEFAULT) >= 0);
  make_dataset(parent, "m/m/g/new", 7);
  set_attribute(parent, "m/g", "a", 1);
  set_attribute(group, ".", "b", 1);
  CHECK(H5Lmove(parent, "m/g/deep", H5L_SAME_LOC, "m/moved", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Fflush(child, H5F_SCOPE_GLOBAL) >= 0);
  /* The grandchild stays while it is mounted. */
  CHECK(H5Fclose(grand) >= 0);
  show("parent", parent, "m/m/g/new");
  CHECK(H5Gclose(group) >= 0);
  show("parent", parent, "m/m/g/new");
  puts("visit");
  CHECK(H5Ovisit3(parent, H5_INDEX_NAME, H5_ITER_INC, print_visited, NULL, H5O_INFO_BASIC) >= 0);
  make_dataset(parent, "m/m/g/late", 8);
  grand = open_with(files[2], H5F_ACC_RDWR, degree);
  show("opened again", grand, "g/late");
  CHECK(H5Funmount(parent, "m/m") >= 0);
  show("parent", parent, "m/m");
  show("parent", parent, "m/m/hidden");
  show("opened again", grand, "g/late");
  CHECK(H5Fclose(grand) >= 0);
  /* The parent stays while the child is open. */
  CHECK(H5Fclose(parent) >= 0);
  show("child", child, "/g/own");
  show("child", child, "m/g/own");
  CHECK(H5Gclose(before) >= 0);
  CHECK(H5Fclose(child) >= 0);
}

static void unmounting(void) {
  const hid_t parent = open_with(files[0], H5F_ACC_RDONLY, H5F_CLOSE_WEAK);
  const hid_t child = open_with(files[1], H5F_ACC_RDWR, H5F_CLOSE_WEAK);
  const hid_t mount_point = H5Gopen2(parent, "hard", H5P_DEFAULT);
  hid_t below;
  CHECK(H5Fmount(mount_point, ".", child, H5P_DEFAULT) >= 0);
  show("point", mount_point, "hidden");
  show("parent", parent, "m/moved");
  H5E_BEGIN_TRY {
    printf("twice %d\n", H5Fmount(parent, "g", child, H5P_DEFAULT) >= 0);
    printf("in a circle %d\n", H5Fmount(child, "m/m", parent, H5P_DEFAULT) >= 0);
    printf("hard link across %d\n",
           H5Lcreate_hard(parent, "m/g/own", H5L_SAME_LOC, "own", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    printf("read-only parent %d\n", H5Gcreate2(parent, "no", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  H5E_END_TRY
  below = H5Gopen2(parent, "m/g", H5P_DEFAULT);
  show_name("below", below);
  make_dataset(below, "writable", 3);
  CHECK(H5Fclose(child) >= 0);
  CHECK(H5Funmount(mount_point, ".") >= 0);
  show_name("below", below);
  show("below", below, "writable");
  show("below", below, "/g/own");
  show("point", mount_point, "hidden");
  H5E_BEGIN_TRY { printf("unmounted twice %d\n", H5Funmount(parent, "m") >= 0); }
  H5E_END_TRY
  CHECK(H5Gclose(below) >= 0 && H5Gclose(mount_point) >= 0 && H5Fclose(parent) >= 0);
}

static void afterwards(void) {
  int i;
  for (i = 0; i < 3; ++i) {
    const hid_t file = open_with(files[i], H5F_ACC_RDONLY, H5F_CLOSE_DEFAULT);
    printf("file %d\n", i);
    CHECK(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, print_visited, NULL, H5O_INFO_BASIC) >= 0);
    show("file", file, "g");
    show("file", file, "g/new");
    CHECK(H5Fclose(file) >= 0);
  }
}

int main(int argc, char** argv) {
  const H5F_close_degree_t degrees[] = {H5F_CLOSE_WEAK, H5F_CLOSE_STRONG};
  int i;
  CHECK(argc == 4);
  for (i = 0; i < 3; ++i) files[i] = argv[i + 1];
  for (i = 0; i < 2; ++i) {
    make_files();
    puts(i == 0 ? "weak" : "strong");
    paths(degrees[i]);
    afterwards();
  }
  unmounting();
  afterwards();
  return 0;
}
