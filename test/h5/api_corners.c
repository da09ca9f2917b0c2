// Seldom used parts of HDF5's interface, printed as it answers them: the same for a file and a store.
// `write`: makes the file first, and asks it while it is new; `print`: asks it after reopening.
#include <string.h>

#include "check.h"

static herr_t PrintAttribute(hid_t owner, const char* name, const H5A_info_t* info, void* unused) {
  (void)owner, (void)unused;
  printf("  attribute %s: %d bytes, order %s\n", name, (int)info->data_size, info->corder_valid ? "known" : "unknown");
  return 0;
}

static void PrintAttributes(const char* what, hid_t object, H5_index_t index, H5_iter_order_t order) {
  hsize_t position = 0;
  puts(what);
  CHECK(H5Aiterate2(object, index, order, &position, PrintAttribute, NULL) >= 0);
  printf("  ended at %d\n", (int)position);
}

static herr_t PrintLink(hid_t group, const char* name, const H5L_info2_t* info, void* stop_at) {
  (void)group;
  printf("  link %s: kind %d, characters %d, order %s\n", name, info->type, info->cset,
         info->corder_valid ? "known" : "unknown");
  return stop_at != NULL && strcmp(name, stop_at) == 0;
}

static herr_t PrintObject(hid_t root, const char* name, const H5O_info2_t* info, void* unused) {
  (void)root, (void)unused;
  printf("  object %s: kind %d, links %u, attributes %d\n", name, info->type, info->rc, (int)info->num_attrs);
  return 0;
}

static herr_t AddElement(void* element, hid_t type, unsigned rank, const hsize_t* point, void* sum) {
  (void)type;
  *(long*)sum += *(int*)element * (long)(1 + point[0] + (rank > 1 ? 10 * point[1] : 0));
  return 0;
}

static void MakeAttributes(hid_t object) {
  const char* const names[] = {"zeta", "beta", "alpha", "omega"};
  const hid_t space = H5Screate(H5S_SCALAR);
  for (int i = 0; i < 4; ++i) {
    const hid_t attribute = H5Acreate2(object, names[i], H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT, &i) >= 0);
    CHECK(H5Aclose(attribute) >= 0);
  }
  CHECK(H5Arename(object, "beta", "gamma") >= 0);
  CHECK(H5Adelete_by_idx(object, ".", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 1, H5P_DEFAULT) >= 0);
  CHECK(H5Sclose(space) >= 0);
}

static void MakeLinks(hid_t file, hid_t ordered) {
  const hid_t group = H5Gcreate2(file, "links", H5P_DEFAULT, ordered, H5P_DEFAULT);
  CHECK(group >= 0);
  CHECK(H5Lcreate_soft("/elsewhere", group, "soft", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Gclose(H5Gcreate2(group, "child", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  CHECK(H5Lcreate_hard(group, "child", group, "again", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcreate_external("other.h5", "/x", group, "external", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lcopy(group, "soft", group, "copied", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Lmove(group, "again", group, "moved", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  MakeAttributes(group);
  CHECK(H5Gclose(group) >= 0);
}

static void MakeDatasets(hid_t file, hid_t ordered) {
  const hsize_t extent[2] = {4, 6}, maximum[2] = {8, 6}, chunk[2] = {3, 4}, smaller[2] = {2, 5};
  const hid_t space = H5Screate_simple(2, extent, maximum);
  CHECK(H5Pset_chunk(ordered, 2, chunk) >= 0);
  hid_t dataset = H5Dcreate2(file, "grid", H5T_STD_I32LE, space, H5P_DEFAULT, ordered, H5P_DEFAULT);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = i * i;
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Dset_extent(dataset, smaller) >= 0 && H5Dset_extent(dataset, maximum) >= 0);
  MakeAttributes(dataset);
  CHECK(H5Dclose(dataset) >= 0);

  const hsize_t three = 3;
  const hid_t line = H5Screate_simple(1, &three, NULL), sequence = H5Tvlen_create(H5T_STD_I16LE);
  short words[6] = {1, 2, 3, 4, 5, 6};
  const hvl_t lists[3] = {{1, words}, {0, NULL}, {5, words + 1}};
  dataset = H5Dcreate2(file, "lists", sequence, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t in_memory = H5Tvlen_create(H5T_NATIVE_SHORT);
  CHECK(H5Dwrite(dataset, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, lists) >= 0);
  CHECK(H5Dclose(dataset) >= 0);
  CHECK(H5Dclose(H5Dcreate2(file, "empty", H5T_STD_I32LE, line, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0);
  const hid_t type = H5Tcopy(H5T_STD_U16BE);
  CHECK(H5Tcommit_anon(file, type, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  CHECK(H5Olink(type, file, "type", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void PrintLinks(hid_t file) {
  char name[32];
  const hid_t group = H5Gopen2(file, "links", H5P_DEFAULT);
  PrintAttributes("attributes of a group as made", group, H5_INDEX_CRT_ORDER, H5_ITER_INC);
  PrintAttributes("attributes of a group by name", group, H5_INDEX_NAME, H5_ITER_DEC);
  puts("links");
  for (hsize_t i = 0; i < 5; ++i) {
    CHECK(H5Lget_name_by_idx(file, "links", H5_INDEX_CRT_ORDER, H5_ITER_DEC, i, name, sizeof name, H5P_DEFAULT) > 0);
    printf("  %d from the last: %s\n", (int)i, name);
  }
  hsize_t position = 1;
  CHECK(H5Literate2(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, &position, PrintLink, "external") == 1);
  printf("  stopped at %d\n", (int)position);
  CHECK(H5Lvisit_by_name2(file, "/", H5_INDEX_NAME, H5_ITER_INC, PrintLink, NULL, H5P_DEFAULT) >= 0);
  CHECK(H5Lget_val_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, 1, name, sizeof name, H5P_DEFAULT) >= 0);
  printf("  the second by name leads to %s\n", name);
  puts("objects");
  CHECK(H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, PrintObject, NULL, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) >= 0);
  H5O_info2_t child, moved;
  int order = 1;
  CHECK(H5Oget_info_by_name3(group, "child", &child, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
  CHECK(H5Oget_info_by_name3(group, "moved", &moved, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
  CHECK(H5Otoken_cmp(file, &child.token, &moved.token, &order) >= 0);
  printf("  one object by two names: %d, dangling: %d\n", order, H5Oexists_by_name(group, "soft", H5P_DEFAULT));
  CHECK(H5Gclose(group) >= 0);
}

static void PrintDatasets(hid_t file) {
  hid_t dataset = H5Dopen2(file, "grid", H5P_DEFAULT);
  const hsize_t too_large[2] = {9, 6};
  int values[48], picked[48];
  long sum = 0;
  H5D_space_status_t status;
  PrintAttributes("attributes of a dataset as made", dataset, H5_INDEX_CRT_ORDER, H5_ITER_INC);
  H5E_BEGIN_TRY { CHECK(H5Dset_extent(dataset, too_large) < 0); }
  H5E_END_TRY
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  puts("grid");
  for (int i = 0; i < 48; ++i) printf("%s %d", i % 6 == 0 ? "\n" : "", values[i]);
  const hid_t space = H5Dget_space(dataset);
  CHECK(H5Diterate(values, H5T_NATIVE_INT, space, AddElement, &sum) >= 0);
  CHECK(H5Dget_space_status(dataset, &status) >= 0);
  printf("\n  sum %ld, allocated %d\n", sum, status);
  const hsize_t start[2] = {1, 1}, stride[2] = {3, 2}, count[2] = {2, 3};
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0);
  CHECK(H5Dgather(space, values, H5T_NATIVE_INT, sizeof picked, picked, NULL, NULL) >= 0);
  for (int i = 0; i < 6; ++i) printf("  gathered %d\n", picked[i]);
  const short seven = 7;
  CHECK(H5Dfill(&seven, H5T_NATIVE_SHORT, values, H5T_NATIVE_INT, space) >= 0);
  printf("  filled %d, beside %d\n", values[7], values[8]);
  CHECK(H5Dclose(dataset) >= 0);

  hsize_t bytes = 0;
  dataset = H5Dopen2(file, "lists", H5P_DEFAULT);
  const hid_t in_memory = H5Tvlen_create(H5T_NATIVE_SHORT), line = H5Dget_space(dataset);
  CHECK(H5Dvlen_get_buf_size(dataset, in_memory, line, &bytes) >= 0);
  printf("lists: %d bytes in memory\n", (int)bytes);
  CHECK(H5Dclose(dataset) >= 0);
  dataset = H5Dopen2(file, "empty", H5P_DEFAULT);
  CHECK(H5Dget_space_status(dataset, &status) >= 0);
  printf("empty: allocated %d, %d bytes\n", status, (int)H5Dget_storage_size(dataset));
  CHECK(H5Dclose(dataset) >= 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const int writes = strcmp(argv[2], "write") == 0;
  const hid_t file = writes ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)
                            : H5Fopen(argv[1], H5F_ACC_RDWR, H5P_DEFAULT);
  CHECK(file >= 0);
  if (writes) {
    const hid_t group = H5Pcreate(H5P_GROUP_CREATE), dataset = H5Pcreate(H5P_DATASET_CREATE);
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    CHECK(H5Pset_link_creation_order(group, order) >= 0);
    CHECK(H5Pset_attr_creation_order(group, order) >= 0);
    CHECK(H5Pset_attr_creation_order(dataset, order) >= 0);
    MakeLinks(file, group);
    MakeDatasets(file, dataset);
  }
  PrintLinks(file);
  PrintDatasets(file);
  CHECK(H5Fclose(file) >= 0);
  return 0;
}
