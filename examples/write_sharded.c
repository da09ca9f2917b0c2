// Writes a new Zarr with plain HDF5: a float32 volume, one shard a layer of planes.
//   write_sharded new.zarr [PLANES ROWS COLUMNS]
// Run with HDF5_PLUGIN_PATH=<dir> HDF5_VOL_CONNECTOR=zarr. It links libhdf5 and nothing of h5zarr.
#include <h5zarr/filters.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPlanesPerShard = 32 };

// The value at a position, which check_image.py knows too.
static float Value(hsize_t plane, hsize_t row, hsize_t column) {
  return (float)(plane + row) + 0.25f * (float)(column % 64);
}

static herr_t SetAttributes(hid_t dataset) {
  const double spacing[3] = {2.0, 0.5, 0.5};
  const hsize_t axes = 3;
  hid_t space = H5Screate_simple(1, &axes, NULL);
  hid_t attribute = H5Acreate2(dataset, "spacing", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t status = H5Awrite(attribute, H5T_NATIVE_DOUBLE, spacing);
  H5Aclose(attribute);
  H5Sclose(space);
  return status;
}

static hid_t CreateDataset(hid_t file, const hsize_t extent[3]) {
  // HDF5's chunk is Zarr's shard: the unit of storage. Inner chunks are compressed and read alone.
  const hsize_t planes = extent[0] < kPlanesPerShard ? extent[0] : kPlanesPerShard;
  const hsize_t shard[3] = {planes, extent[1], extent[2]};
  const hsize_t inner[3] = {1, extent[1], extent[2]};
  hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 3, shard);
  H5Pset_shard(properties, 3, inner, H5ZARR_SHARD_ZSTD, 3);

  hid_t group = H5Gcreate2(file, "volume", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, extent, NULL);
  hid_t dataset = H5Dcreate2(group, "density", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  H5Sclose(space);
  H5Gclose(group);
  H5Pclose(properties);
  return dataset;
}

// Writes shard by shard, as an instrument would.
static herr_t WriteData(hid_t dataset, const hsize_t extent[3]) {
  float* slab = malloc(kPlanesPerShard * extent[1] * extent[2] * sizeof *slab);
  hid_t file_space = H5Dget_space(dataset);
  herr_t status = slab ? 0 : -1;
  for (hsize_t plane = 0; status >= 0 && plane < extent[0]; plane += kPlanesPerShard) {
    const hsize_t left = extent[0] - plane;
    const hsize_t start[3] = {plane, 0, 0};
    const hsize_t count[3] = {left < kPlanesPerShard ? left : kPlanesPerShard, extent[1], extent[2]};
    float* next = slab;
    for (hsize_t p = 0; p < count[0]; ++p)
      for (hsize_t row = 0; row < extent[1]; ++row)
        for (hsize_t column = 0; column < extent[2]; ++column) *next++ = Value(plane + p, row, column);
    hid_t memory_space = H5Screate_simple(3, count, NULL);
    H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL);
    status = H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory_space, file_space, H5P_DEFAULT, slab);
    H5Sclose(memory_space);
  }
  H5Sclose(file_space);
  free(slab);
  return status;
}

int main(int argc, char** argv) {
  hsize_t extent[3] = {128, 512, 512};
  if (argc != 2 && argc != 5) {
    fprintf(stderr, "usage: %s NEW.zarr [PLANES ROWS COLUMNS]\n", argv[0]);
    return 2;
  }
  for (int axis = 0; argc == 5 && axis < 3; ++axis) extent[axis] = strtoull(argv[2 + axis], NULL, 10);

  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return 1;
  hid_t dataset = CreateDataset(file, extent);
  if (dataset < 0 || SetAttributes(dataset) < 0 || WriteData(dataset, extent) < 0) return 1;
  // What was not stored before is stored here: both say whether that worked.
  if (H5Dclose(dataset) < 0 || H5Fclose(file) < 0) return 1;
  printf("wrote %s: /volume/density, %llu x %llu x %llu float32\n", argv[1], (unsigned long long)extent[0],
         (unsigned long long)extent[1], (unsigned long long)extent[2]);
  return 0;
}
