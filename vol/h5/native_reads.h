// native_reads: which reads of native HDF5 files the engine takes over from HDF5.
//
// Datasets of files that are open for reading only, through the default driver, where the engine pays:
// see transfer/native_chunks.
#ifndef H5ZARR_H5_NATIVE_READS_H_
#define H5ZARR_H5_NATIVE_READS_H_

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/config.h"
#include "base/status.h"
#include "h5/dataset_transfer.h"
#include "host/object.h"
#include "transfer/native_chunks.h"

namespace h5zarr {

// What is known of native files, by their numbers within the library (which are never given twice, so that
// an entry can outlive its file).
class NativeFiles {
 public:
  // A native file has been opened, with the program's `fapl` and `config`; the first one holds.
  void NoteOpened(void* under, const char* name, hid_t fapl, const Config& config);
  // One that is open has got another handle.
  void NoteReopened(void* under);
  // The number of a file that is known; asked before the file is closed.
  std::optional<unsigned long> NumberOf(void* under) const;
  void NoteClosed(unsigned long number);

  // The dataset as the engine reads it; null where HDF5 has to. Found once for an object in a file.
  std::shared_ptr<transfer::NativeChunks> Find(const Object& dataset);

 private:
  static constexpr std::size_t kMaxFiles = 256;
  static constexpr uint64_t kMaxIndexBytes = 64 << 20;

  struct File {
    transfer::NativeSource source;
    unsigned opened = 0;  // how often it is
    std::map<uint64_t, std::shared_ptr<transfer::NativeChunks>> datasets;  // by token; null: HDF5's
  };
  void MakeRoom();

  std::map<unsigned long, File> files_;
};

// The dataset that `part`, a read, is to be taken from, ready for it; null where HDF5 reads it.
transfer::NativeChunks* EngineFor(const DatasetPart& part);

// Reads parts for which there is an EngineFor. On failure nothing has been reported, and HDF5 is to
// read them.
Status ReadByEngine(std::span<const DatasetPart> parts, hid_t dxpl);

// The dataset is about to be closed.
void LetGoOfEngine(Object* dataset);

}  // namespace h5zarr

#endif  // H5ZARR_H5_NATIVE_READS_H_
