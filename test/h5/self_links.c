// Hard links of a group to itself, directly and by way of a child: removed again, the group is what it was.
#include "check.h"

static hid_t group;

static void CheckGroup(unsigned hard_links, unsigned members) {
  H5O_info2_t object;
  H5G_info_t links;
  CHECK(H5Oget_info3(group, &object, H5O_INFO_BASIC) >= 0 && object.rc == hard_links);
  CHECK(H5Gget_info(group, &links) >= 0 && links.nlinks == members);
}

static void LinkToItself(const char* name) {
  CHECK(H5Lcreate_hard(group, ".", group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  const hid_t ordered = H5Pcreate(H5P_GROUP_CREATE);
  CHECK(H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0);
  group = H5Gcreate2(file, "g", H5P_DEFAULT, ordered, H5P_DEFAULT);
  CHECK(group >= 0);

  LinkToItself("a");
  LinkToItself("b");
  CheckGroup(3, 2);
  CHECK(H5Ldelete_by_idx(group, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, 0, H5P_DEFAULT) >= 0);
  CheckGroup(2, 1);
  CHECK(H5Lmove(group, "b", H5L_SAME_LOC, "c", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lexists(group, "b", H5P_DEFAULT) == 0);
  CheckGroup(2, 1);
  CHECK(H5Ldelete(file, "g/c/c", H5P_DEFAULT) >= 0);
  CheckGroup(1, 0);
  CHECK(H5Lexists(group, "c", H5P_DEFAULT) == 0);

  const hid_t child = H5Gcreate2(group, "child", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Lcreate_hard(group, ".", child, "up", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Gclose(child) >= 0);
  CheckGroup(2, 1);
  CHECK(H5Ldelete(group, "child", H5P_DEFAULT) >= 0);
  CheckGroup(1, 0);

  LinkToItself("last");
  CHECK(H5Ldelete(file, "g", H5P_DEFAULT) >= 0);
  CheckGroup(1, 1);
  CHECK(H5Ldelete(group, "last", H5P_DEFAULT) >= 0);
  CHECK(H5Gclose(group) >= 0);
  CHECK(H5Pclose(ordered) >= 0 && H5Fclose(file) >= 0);
  puts("ok");
  return 0;
}
