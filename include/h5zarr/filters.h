/* h5zarr's HDF5 filters: identifiers, the words of their cd_values, and a helper. For C99 and C++, with the
 * headers of HDF5 1.10 and newer. Nothing to link: the helper is static inline and calls the program's own
 * HDF5, under whose rules for threads it may be called.
 *
 * Filter 480, "shard": an HDF5 chunk is a Zarr shard. The chunk stays the unit of storage; within it,
 * inner chunks are compressed one by one and can be read one by one. In a Zarr store it becomes the
 * codec `sharding_indexed`.
 *
 * cd_values of filter 480, version 1 (permanent: they are stored in files):
 *   word 0            version (1) in bits 0-7; bit 8: the index stands at the start of the shard
 *                     (else at its end); bits 16-23: set by the library (1 + number of codec words
 *                     once the words of the last line are there)
 *   word 1            rank
 *   words 2 …         inner chunk shape, one word a dimension; must divide the chunk's
 *   then              one word an inner codec, in encoding order: identifier in bits 0-7, parameter
 *                     (signed) in bits 8-31, see H5ZARR_SHARD_CODEC
 *   then, appended    chunk shape, one word a dimension; element size in bytes; the fill value's
 *   by the library    first 8 bytes, little end first (all of its bytes where it is longer and not
 *                     zero, at most 1 KiB)
 */
#ifndef H5ZARR_FILTERS_H
#define H5ZARR_FILTERS_H

#include <hdf5.h>

#define H5ZARR_FILTER_SHARD 480
#define H5ZARR_FILTER_ZSTD 32015

#define H5ZARR_SHARD_VERSION 1
#define H5ZARR_SHARD_INDEX_AT_START 0x100u

/* Inner codecs. The parameter: shuffle, crc32c, none: 0; gzip: level 0-9; zstd: level; blosc:
 * level + 16 * compressor (0 blosclz, 1 lz4, 2 lz4hc, 3 zlib, 4 zstd) + 256 * shuffle (0 none, 1 byte,
 * 2 bit). */
enum h5zarr_shard_codec {
  H5ZARR_SHARD_NONE = 0,
  H5ZARR_SHARD_SHUFFLE = 1,
  H5ZARR_SHARD_GZIP = 2,
  H5ZARR_SHARD_ZSTD = 3,
  H5ZARR_SHARD_BLOSC = 4,
  H5ZARR_SHARD_CRC32C = 5
};

#define H5ZARR_SHARD_CODEC(codec, parameter) (((unsigned)(codec)) | (((unsigned)(parameter)) << 8))

/* Makes the chunks of a dataset to be created with `dcpl` Zarr shards of inner chunks of shape
 * `inner` (`rank` entries, in elements; each must divide the chunk's), compressed by one `codec`
 * (enum h5zarr_shard_codec) with the parameter `level` (H5ZARR_SHARD_NONE: as they are, whatever the level).
 * Call after H5Pset_chunk. The filter is mandatory: where it is missing, H5Dcreate fails rather than storing
 * unsharded data.
 *
 * Returns a negative value, with the reason on HDF5's error stack, for a rank that is not 1 to H5S_MAX_RANK, for
 * an inner extent that is not 1 to 2^32 - 1, and for a `dcpl` that is no dataset creation property list. Whether
 * the shape divides the chunk's, and codec and parameter are known, is found by H5Dcreate. `inner` is not kept. */
static inline herr_t H5Pset_shard(hid_t dcpl, int rank, const hsize_t inner[], unsigned codec, int level) {
  unsigned words[2 + H5S_MAX_RANK + 1];
  size_t count = 2;
  int i;

  if (rank < 1 || rank > H5S_MAX_RANK) {
    H5Epush2(H5E_DEFAULT, __FILE__, "H5Pset_shard", __LINE__, H5E_ERR_CLS, H5E_PLIST, H5E_BADRANGE,
             "rank is %d; expected 1 to %d", rank, H5S_MAX_RANK);
    return -1;
  }
  words[0] = H5ZARR_SHARD_VERSION;
  words[1] = (unsigned)rank;
  for (i = 0; i < rank; i++) {
    if (inner[i] == 0 || inner[i] > 0xffffffffu) {
      H5Epush2(H5E_DEFAULT, __FILE__, "H5Pset_shard", __LINE__, H5E_ERR_CLS, H5E_PLIST, H5E_BADRANGE,
               "extent %d of the inner chunk is %llu; expected 1 to 4294967295", i, (unsigned long long)inner[i]);
      return -1;
    }
    words[count++] = (unsigned)inner[i];
  }
  if (codec != H5ZARR_SHARD_NONE) words[count++] = H5ZARR_SHARD_CODEC(codec, level);
  return H5Pset_filter(dcpl, H5ZARR_FILTER_SHARD, H5Z_FLAG_MANDATORY, count, words);
}

#endif /* H5ZARR_FILTERS_H */
