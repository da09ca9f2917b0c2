// H5Dread_chunk and H5Dwrite_chunk: encoded chunks of one dataset, written into another, are its elements.
#include <string.h>

#include "check.h"

enum { kRows = 10, kColumns = 6, kChunk = 4 };

static hid_t Make(hid_t file, const char* name, int filters) {
  const hsize_t extent[2] = {kRows, kColumns}, chunk[2] = {kChunk, kChunk};
  const hid_t space = H5Screate_simple(2, extent, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 2, chunk) >= 0);
  if (filters > 1) CHECK(H5Pset_shuffle(properties) >= 0);
  if (filters > 0) CHECK(H5Pset_deflate(properties, 4) >= 0);
  if (filters > 2) CHECK(H5Pset_fletcher32(properties) >= 0);
  const hid_t dataset = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset >= 0);
  return dataset;
}

static int CountChunk(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes, void* count) {
  (void)address;
  CHECK(offset[0] % kChunk == 0 && offset[1] % kChunk == 0 && mask == 0 && bytes > 0);
  ++*(int*)count;
  return 0;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  int values[kRows][kColumns], copied[kRows][kColumns];
  for (int i = 0; i < kRows * kColumns; ++i) (&values[0][0])[i] = 7 * i + 1;
  for (int filters = 0; filters <= 3; ++filters) {
    char name[2][16];
    snprintf(name[0], sizeof name[0], "from%d", filters);
    snprintf(name[1], sizeof name[1], "to%d", filters);
    const hid_t from = Make(file, name[0], filters), to = Make(file, name[1], filters);
    CHECK(H5Dwrite(from, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    hsize_t chunks = 0;
    CHECK(H5Dget_num_chunks(from, H5S_ALL, &chunks) >= 0 && chunks == 6);
    int iterated = 0;
    CHECK(H5Dchunk_iter(from, H5P_DEFAULT, CountChunk, &iterated) >= 0 && iterated == 6);
    for (hsize_t i = 0; i < chunks; ++i) {
      hsize_t offset[2], bytes = 0;
      unsigned mask = 1;
      uint32_t filter_mask = 1;
      char buffer[1024];
      CHECK(H5Dget_chunk_info(from, H5S_ALL, i, offset, &mask, NULL, &bytes) >= 0);
      CHECK(mask == 0 && bytes <= sizeof buffer);
      CHECK(H5Dread_chunk(from, H5P_DEFAULT, offset, &filter_mask, buffer) >= 0);
      CHECK(H5Dwrite_chunk(to, H5P_DEFAULT, filter_mask, offset, bytes, buffer) >= 0);
    }
    CHECK(H5Dread(to, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, copied) >= 0);
    CHECK(memcmp(copied, values, sizeof values) == 0);
    // A chunk whose filters were all left out.
    if (filters == 1) {
      const hsize_t origin[2] = {0, 0};
      int plain[kChunk * kChunk];
      for (int k = 0; k < kChunk * kChunk; ++k) plain[k] = 5;
      CHECK(H5Dwrite_chunk(to, H5P_DEFAULT, 1, origin, sizeof plain, plain) >= 0);
      CHECK(H5Dread(to, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, copied) >= 0);
      CHECK(copied[3][3] == 5 && copied[4][4] == values[4][4]);
    }
  }
  CHECK(H5Fclose(file) >= 0);
  puts("ok");
  return 0;
}
