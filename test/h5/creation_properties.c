// Every property of creation lists, as a program sets it and gets it back. `write`: makes a file whose
// objects have unusual ones; then, as with `print`, prints what their creation lists say.
#include <string.h>

#include "check.h"

#define PRINT(...) (printf("  " __VA_ARGS__), putchar('\n'))

static void PrintObject(hid_t list) {
  unsigned compact, dense, order;
  CHECK(H5Pget_attr_phase_change(list, &compact, &dense) >= 0);
  CHECK(H5Pget_attr_creation_order(list, &order) >= 0);
  PRINT("attributes: compact to %u, dense from %u, order %u", compact, dense, order);
}

static void PrintGroup(hid_t list) {
  unsigned compact, dense, order, entries, name_bytes;
  size_t heap;
  CHECK(H5Pget_link_phase_change(list, &compact, &dense) >= 0);
  CHECK(H5Pget_link_creation_order(list, &order) >= 0);
  CHECK(H5Pget_est_link_info(list, &entries, &name_bytes) >= 0);
  CHECK(H5Pget_local_heap_size_hint(list, &heap) >= 0);
  PRINT("links: compact to %u, dense from %u, order %u, about %u of %u bytes, heap %zu", compact, dense, order, entries,
        name_bytes, heap);
  PrintObject(list);
}

static void PrintFile(hid_t list) {
  hsize_t user_block, page_bytes, threshold;
  size_t address_bytes, length_bytes;
  unsigned tree, leaf, chunks, indexes, kinds, min_bytes, list_max, tree_min;
  H5F_fspace_strategy_t strategy;
  hbool_t persist;
  CHECK(H5Pget_userblock(list, &user_block) >= 0);
  CHECK(H5Pget_sizes(list, &address_bytes, &length_bytes) >= 0);
  CHECK(H5Pget_sym_k(list, &tree, &leaf) >= 0 && H5Pget_istore_k(list, &chunks) >= 0);
  PRINT("user block %llu, sizes %zu %zu, trees %u %u %u", (unsigned long long)user_block, address_bytes, length_bytes,
        tree, leaf, chunks);
  CHECK(H5Pget_file_space_strategy(list, &strategy, &persist, &threshold) >= 0);
  CHECK(H5Pget_file_space_page_size(list, &page_bytes) >= 0);
  PRINT("space: strategy %d, persist %d, threshold %llu, page %llu", strategy, persist, (unsigned long long)threshold,
        (unsigned long long)page_bytes);
  CHECK(H5Pget_shared_mesg_nindexes(list, &indexes) >= 0);
  CHECK(H5Pget_shared_mesg_phase_change(list, &list_max, &tree_min) >= 0);
  PRINT("shared: %u indexes, lists to %u, trees from %u", indexes, list_max, tree_min);
  for (unsigned i = 0; i < indexes; ++i) {
    CHECK(H5Pget_shared_mesg_index(list, i, &kinds, &min_bytes) >= 0);
    PRINT("shared: kinds %u from %u bytes", kinds, min_bytes);
  }
}

static void PrintDataset(hid_t list) {
  const H5D_layout_t layout = H5Pget_layout(list);
  H5D_alloc_time_t alloc_time;
  H5D_fill_time_t fill_time;
  H5D_fill_value_t defined;
  hbool_t no_attributes;
  int fill = -1;
  CHECK(H5Pget_alloc_time(list, &alloc_time) >= 0 && H5Pget_fill_time(list, &fill_time) >= 0);
  CHECK(H5Pfill_value_defined(list, &defined) >= 0);
  if (defined != H5D_FILL_VALUE_UNDEFINED) {
    CHECK(H5Pget_fill_value(list, H5T_NATIVE_INT, &fill) >= 0);
  }
  CHECK(H5Pget_dset_no_attrs_hint(list, &no_attributes) >= 0);
  PRINT("layout %d, allocated %d, fill %d when %d is %d, external %d, no attributes %d", layout, alloc_time, defined,
        fill_time, fill, H5Pget_external_count(list), no_attributes);
  if (layout == H5D_CHUNKED) {
    hsize_t chunk[2];
    unsigned options;
    CHECK(H5Pget_chunk(list, 2, chunk) == 2 && H5Pget_chunk_opts(list, &options) >= 0);
    PRINT("chunk %d x %d, options %u", (int)chunk[0], (int)chunk[1], options);
  }
  for (int i = 0; i < H5Pget_nfilters(list); ++i) {
    unsigned flags, config, words[8] = {0};
    size_t count = 8;
    char name[32];
    const H5Z_filter_t id = H5Pget_filter2(list, (unsigned)i, &flags, &count, words, sizeof name, name, &config);
    PRINT("filter %d '%s' flags %u, %zu words: %u %u", id, name, flags, count, words[0], words[1]);
  }
  PrintObject(list);
}

static void SetObject(hid_t list) {
  CHECK(H5Pset_attr_phase_change(list, 5, 3) >= 0);
  CHECK(H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED) >= 0);
}

static void SetGroup(hid_t list) {
  CHECK(H5Pset_link_phase_change(list, 7, 4) >= 0);
  CHECK(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED) >= 0);
  CHECK(H5Pset_est_link_info(list, 11, 22) >= 0);
  SetObject(list);
}

static hid_t FileList(void) {
  const hid_t list = H5Pcreate(H5P_FILE_CREATE);
  CHECK(H5Pset_userblock(list, 8192) >= 0 && H5Pset_sizes(list, 4, 4) >= 0);
  CHECK(H5Pset_sym_k(list, 20, 5) >= 0 && H5Pset_istore_k(list, 40) >= 0);
  CHECK(H5Pset_file_space_strategy(list, H5F_FSPACE_STRATEGY_PAGE, 1, 3) >= 0);
  CHECK(H5Pset_file_space_page_size(list, 8192) >= 0);
  CHECK(H5Pset_shared_mesg_nindexes(list, 2) >= 0);
  CHECK(H5Pset_shared_mesg_index(list, 0, H5O_SHMESG_DTYPE_FLAG, 40) >= 0);
  CHECK(H5Pset_shared_mesg_index(list, 1, H5O_SHMESG_FILL_FLAG, 60) >= 0);
  CHECK(H5Pset_shared_mesg_phase_change(list, 30, 20) >= 0);
  SetGroup(list);
  return list;
}

static void MakeDataset(hid_t file, const char* name, hid_t list) {
  const hsize_t extent[2] = {10, 10};
  const hid_t space = H5Screate_simple(2, extent, NULL);
  const hid_t dataset = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  CHECK(dataset >= 0 && H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Pclose(list) >= 0);
}

static void Write(hid_t file) {
  const hid_t group_list = H5Pcreate(H5P_GROUP_CREATE);
  SetGroup(group_list);
  hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, group_list, H5P_DEFAULT);
  CHECK(group >= 0 && H5Gclose(group) >= 0);
  CHECK(H5Pset_link_creation_order(group_list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0);
  group = H5Gcreate2(file, "indexed", H5P_DEFAULT, group_list, H5P_DEFAULT);
  CHECK(group >= 0 && H5Gclose(group) >= 0);
  group = H5Gcreate2(file, "plain", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(group >= 0 && H5Gclose(group) >= 0);

  const hid_t type_list = H5Pcreate(H5P_DATATYPE_CREATE);
  SetObject(type_list);
  const hid_t type = H5Tcopy(H5T_STD_I16LE);
  CHECK(H5Tcommit2(file, "type", type, H5P_DEFAULT, type_list, H5P_DEFAULT) >= 0);
  CHECK(H5Tclose(type) >= 0);

  const hsize_t chunk[2] = {4, 3};
  const int fill = 17;
  MakeDataset(file, "default", H5Pcreate(H5P_DATASET_CREATE));
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  SetObject(list);
  CHECK(H5Pset_chunk(list, 2, chunk) >= 0);
  CHECK(H5Pset_chunk_opts(list, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) >= 0);
  CHECK(H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, 5) >= 0 && H5Pset_fletcher32(list) >= 0);
  CHECK(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill) >= 0);
  MakeDataset(file, "chunked", list);
  list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_layout(list, H5D_COMPACT) >= 0 && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0);
  CHECK(H5Pset_fill_value(list, H5T_NATIVE_INT, NULL) >= 0);
  MakeDataset(file, "compact", list);
  list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0);
  CHECK(H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) >= 0);
  MakeDataset(file, "early", list);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const int writes = strcmp(argv[2], "write") == 0;
  const hid_t file = writes ? H5Fcreate(argv[1], H5F_ACC_TRUNC, FileList(), H5P_DEFAULT)
                            : H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  if (writes) Write(file);

  puts("file");
  PrintFile(H5Fget_create_plist(file));
  const char* const groups[] = {"/", "group", "indexed", "plain"};
  for (int i = 0; i < 4; ++i) {
    puts(groups[i]);
    const hid_t group = H5Gopen2(file, groups[i], H5P_DEFAULT);
    PrintGroup(H5Gget_create_plist(group));
    CHECK(H5Gclose(group) >= 0);
  }
  puts("type");
  const hid_t type = H5Topen2(file, "type", H5P_DEFAULT);
  PrintObject(H5Tget_create_plist(type));
  CHECK(H5Tclose(type) >= 0);
  const char* const datasets[] = {"default", "chunked", "compact", "early"};
  for (int i = 0; i < 4; ++i) {
    puts(datasets[i]);
    const hid_t dataset = H5Dopen2(file, datasets[i], H5P_DEFAULT);
    PrintDataset(H5Dget_create_plist(dataset));
    CHECK(H5Dclose(dataset) >= 0);
  }
  CHECK(H5Fclose(file) >= 0);
  return 0;
}
