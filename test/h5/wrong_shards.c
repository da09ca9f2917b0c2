// H5Pset_shard and H5Dcreate say what is wrong with a shard.
#include <h5zarr/filters.h>
#include <string.h>

#include "check.h"

static herr_t FindText(unsigned depth, const H5E_error2_t* record, void* text) {
  (void)depth;
  return strstr(record->desc, text) != NULL;
}

// Whether the error stack has a record with `text`.
static int Said(const char* text) { return H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, FindText, (void*)text) > 0; }

// Whether a dataset of 8 x 8, whose chunk is all of it, may have such shards.
static int Creates(hid_t file, const hsize_t inner[2], unsigned codec, int level) {
  const hsize_t extent[2] = {8, 8};
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = H5Screate_simple(2, extent, NULL);
  CHECK(H5Pset_chunk(list, 2, extent) >= 0 && H5Pset_shard(list, 2, inner, codec, level) >= 0);
  const hid_t dataset = H5Dcreate2(file, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, list, H5P_DEFAULT);
  if (dataset >= 0) CHECK(H5Dclose(dataset) >= 0 && H5Ldelete(file, "a", H5P_DEFAULT) >= 0);
  return dataset >= 0;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t none[2] = {4, 0}, large[1] = {(hsize_t)1 << 32}, half[2] = {4, 8}, third[2] = {3, 8};
  CHECK(H5Pset_shard(list, 33, none, H5ZARR_SHARD_NONE, 0) < 0 && Said("rank is 33"));
  CHECK(H5Eclear2(H5E_DEFAULT) >= 0);
  CHECK(H5Pset_shard(list, 2, none, H5ZARR_SHARD_NONE, 0) < 0 && Said("extent 1 of the inner chunk is 0"));
  CHECK(H5Eclear2(H5E_DEFAULT) >= 0);
  CHECK(H5Pset_shard(list, 1, large, H5ZARR_SHARD_NONE, 0) < 0 && Said("extent 0 of the inner chunk is 4294967296"));
  CHECK(H5Pset_shard(H5P_DEFAULT, 2, half, H5ZARR_SHARD_NONE, 0) < 0);

  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  CHECK(Creates(file, half, H5ZARR_SHARD_ZSTD, 3));
  CHECK(!Creates(file, third, H5ZARR_SHARD_ZSTD, 3) && Said("filter 480"));
  CHECK(!Creates(file, half, 77, 0) && Said("filter 480"));
  CHECK(!Creates(file, half, H5ZARR_SHARD_GZIP, 10) && Said("filter 480"));
  CHECK(H5Fclose(file) >= 0 && H5Pclose(list) >= 0);
  puts("ok");
  return 0;
}
