// H5Dread_multi and H5Dwrite_multi over datasets of several files, with types and selections of their own.
#include "check.h"

enum { kFiles = 3, kElems = 1000, kSelected = 10 };

static hid_t Make(const char* path, int base, int compress) {
  const hsize_t extent = kElems, chunk = 64;
  int values[kElems];
  for (int k = 0; k < kElems; ++k) values[k] = base + k;
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(file >= 0 && H5Pset_chunk(properties, 1, &chunk) >= 0);
  if (compress) CHECK(H5Pset_deflate(properties, 3) >= 0);
  const hid_t dataset = H5Dcreate2(file, "d", H5T_STD_I32BE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset >= 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Fclose(file) >= 0);  // the dataset keeps it open
  return dataset;
}

int main(int argc, char** argv) {
  CHECK(argc == 1 + kFiles);
  hid_t datasets[kFiles];
  for (int i = 0; i < kFiles; ++i) datasets[i] = Make(argv[1 + i], 10000 * i, i != 1);

  int ints[kElems];
  double doubles[kElems];
  long long longs[kSelected];
  const hsize_t start = 100, stride = 50, count = kSelected;
  const hid_t every_50th = H5Dget_space(datasets[2]);
  CHECK(H5Sselect_hyperslab(every_50th, H5S_SELECT_SET, &start, &stride, &count, NULL) >= 0);
  const hid_t ten = H5Screate_simple(1, &count, NULL);
  hid_t types[kFiles] = {H5T_NATIVE_INT, H5T_NATIVE_DOUBLE, H5T_NATIVE_LLONG};
  hid_t in_memory[kFiles] = {H5S_ALL, H5S_ALL, ten};
  hid_t in_file[kFiles] = {H5S_ALL, H5S_ALL, every_50th};
  void* targets[kFiles] = {ints, doubles, longs};
  const void* sources[kFiles] = {ints, doubles, longs};

  CHECK(H5Dread_multi(kFiles, datasets, types, in_memory, in_file, H5P_DEFAULT, targets) >= 0);
  for (int k = 0; k < kElems; ++k) CHECK(ints[k] == k && doubles[k] == 10000 + k);
  for (int k = 0; k < kSelected; ++k) CHECK(longs[k] == 20100 + 50 * k);

  for (int k = 0; k < kElems; ++k) ints[k] = -k, doubles[k] = k + 5;
  for (int k = 0; k < kSelected; ++k) longs[k] = -7 - k;
  CHECK(H5Dwrite_multi(kFiles, datasets, types, in_memory, in_file, H5P_DEFAULT, sources) >= 0);
  for (int k = 0; k < kElems; ++k) ints[k] = 1, doubles[k] = 1;
  for (int k = 0; k < kSelected; ++k) longs[k] = 1;
  CHECK(H5Dread_multi(kFiles, datasets, types, in_memory, in_file, H5P_DEFAULT, targets) >= 0);
  for (int k = 0; k < kElems; ++k) CHECK(ints[k] == -k && doubles[k] == k + 5);
  for (int k = 0; k < kSelected; ++k) CHECK(longs[k] == -7 - k);

  for (int i = 0; i < kFiles; ++i) CHECK(H5Dclose(datasets[i]) >= 0);
  puts("ok");
  return 0;
}
