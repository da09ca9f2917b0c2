// native_reads: which reads of native HDF5 files the engine takes over from HDF5.
//
// Datasets of files that are open for reading only, through the default driver or as remote ones, where the
// engine pays: see transfer/native_chunks.
#ifndef H5ZARR_H5_NATIVE_READS_H_
#define H5ZARR_H5_NATIVE_READS_H_

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/status.h"
#include "h5/dataset_transfer.h"
#include "host/native.h"
#include "host/object.h"
#include "store/remote_file.h"
#include "transfer/native_chunks.h"

namespace h5zarr {

// The extent of a dataset in a file that nobody writes.
struct HeldExtent {
  std::vector<hsize_t> dims, max_dims;
};

// What is known of native files, by their numbers within the library (which are never given twice, so that
// an entry can outlive its file).
class NativeFiles {
 public:
  // A native file has been opened, with the program's `fapl` and `config`; the first one holds.
  void NoteOpened(void* under, const char* name, hid_t fapl, const Config& config);
  // The same of a remote file.
  void NoteOpened(void* under, std::shared_ptr<RemoteFile> file, const Config& config);
  // Whether a file with a remote name was opened, ever.
  bool any_remote() const { return any_remote_; }
  // One that is open has got another handle.
  void NoteReopened(void* under);
  // The number of a file that is known; asked before the file is closed.
  std::optional<unsigned long> NumberOf(void* under) const;
  // About to be closed: what is held open of it no longer is, if this was the last handle.
  void NoteClosing(unsigned long number);

  // Keeps a versioned dataset open beside the program, for as long as the file is: HDF5 reads all its
  // mappings whenever it is opened.
  void Hold(const Object& dataset);
  // The extent of a dataset that is held, for which HDF5 would go through all its mappings once more; null for
  // others. Borrowed until the next Hold.
  const HeldExtent* ExtentOfHeld(const Object& dataset) const;

  // Whether the object's file is one of them.
  bool Knows(const Object& object) const;
  // Whether the engine is to read all that it can of the object's file, whatever it costs (accelerate=always).
  bool ReadsAlways(const Object& object) const;

  // The dataset as the engine reads it; null where HDF5 has to. Found once for an object in a file, and with
  // `known_only` not now.
  std::shared_ptr<transfer::NativeChunks> Find(const Object& dataset, bool known_only);
  // From now on HDF5 has to, until the file is closed.
  void GiveUp(const Object& dataset);

 private:
  static constexpr std::size_t kMaxFiles = 256;
  static constexpr uint64_t kMaxIndexBytes = 64 << 20;
  static constexpr std::size_t kMaxHeld = 4;  // in a file

  struct Held {
    uint64_t token = 0;
    host::NativeHandle dataset;
    HeldExtent extent;
  };
  struct File {
    transfer::NativeSource source;  // but for the file:
    std::weak_ptr<FileBytes> bytes;
    std::shared_ptr<FileBytes> local;  // keeps it; a remote one is kept by its driver, as long as HDF5 needs it
    Config::Accelerate accelerate = Config::Accelerate::kAuto;
    unsigned opened = 0;                                                   // how often it is
    std::map<uint64_t, std::shared_ptr<transfer::NativeChunks>> datasets;  // by token; null: HDF5's
    std::vector<Held> held;                                                // the oldest first
  };
  void Note(unsigned long number, std::shared_ptr<FileBytes> bytes, const Config& config);
  void MakeRoom();

  std::map<unsigned long, File> files_;
  bool any_remote_ = false;
  bool any_always_ = false;  // was opened with accelerate=always, ever
};

// Whether the object lies in a file that is opened by a URL.
bool IsInRemoteFile(const Object& object);

// Datasets of a remote file whose elements HDF5 would look for in files of this machine are kPermissionDenied.
Status RefuseLocalFiles(const Object& dataset);

// Where the chunks of a versioned-hdf5 dataset are (transfer/versioned_map), by its name and attributes;
// nothing for any other.
std::optional<std::string> RawDataOf(const Object& dataset);

// The dataset that `part`, a read, is to be taken from, ready for it; null where HDF5 reads it.
transfer::NativeChunks* EngineFor(const DatasetPart& part);

// Reads parts for which there is an EngineFor. On failure nothing has been reported, and HDF5 is to
// read them.
Status ReadByEngine(std::span<const DatasetPart> parts, hid_t dxpl);

// The dataset is about to be closed.
void LetGoOfEngine(Object* dataset);

}  // namespace h5zarr

#endif  // H5ZARR_H5_NATIVE_READS_H_
