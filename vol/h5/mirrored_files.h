// mirrored_files: files that are open for writing and have a mirror (the key `mirror`), and when it is
// brought up to date: after a flush, and before the last handle is closed.
//
// What a mirror is nobody knows here: mirror/ works through the connector, and so lies above it.
#ifndef H5ZARR_H5_MIRRORED_FILES_H_
#define H5ZARR_H5_MIRRORED_FILES_H_

#include <hdf5.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "base/config.h"
#include "base/status.h"
#include "host/handle.h"
#include "host/object.h"

namespace h5zarr {

// A file whose mirror is due.
struct MirroredFile {
  std::string path;         // of the file, absolute
  std::string destination;  // `mirror`, absolute
  hid_t fapl;               // as it was opened: another handle can be had by it
};

// How mirrors are made; where nobody says so, nothing is mirrored. By whoever puts a plugin together, once.
using UpdateMirror = Status (*)(const MirroredFile& file);
void SetUpdateMirror(UpdateMirror update);

class MirroredFiles {
 public:
  // A file was opened or created. Those that are written and are to have a mirror are known from now on,
  // until the last of their handles is closed. Fails, where the file's configuration says so, for one that cannot be
  // told from others; else that is told on stderr.
  Status NoteOpened(void* under, const std::string& path, bool writable, const Config& config, hid_t fapl);
  void NoteReopened(void* under);

  // After the file of an object was flushed. Fails only where the file's configuration says so; else a
  // failure is told on stderr. HDF5's error stack stays as it is.
  Status AfterFlush(const Object& object);
  // Before a handle of a file is closed: when it is the last one, the mirror is brought up to date. As AfterFlush.
  Status BeforeClose(const Object& file);
  // It was closed.
  void NoteClosed(unsigned long number);
  // The number of a file that is known; asked before it is closed.
  std::optional<unsigned long> NumberOf(const Object& object) const;

  // The library is about to close: every file's mirror is brought up to date, failures are told on stderr.
  void UpdateAll();
  void Forget() { files_.clear(); }

 private:
  struct File {
    MirroredFile mirrored;
    Handle fapl;
    bool fails = false;
    pid_t pid = 0;  // a forked child mirrors nothing of its parent's
    unsigned handles = 0;
  };
  Status Bring(const File& file);
  static Status Failed(const File& file, const Status& why);

  bool updating_ = false;                // what is opened meanwhile is the mirror's own
  std::map<unsigned long, File> files_;  // by number
};

// The process's; never destroyed.
MirroredFiles& GetMirroredFiles();

}  // namespace h5zarr

#endif  // H5ZARR_H5_MIRRORED_FILES_H_
