#include "base/status.h"

#include <cerrno>
#include <cstring>

namespace h5zarr {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kAlreadyExists: return "already exists";
    case StatusCode::kPermissionDenied: return "permission denied";
    case StatusCode::kCorrupt: return "corrupt data";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kOutOfRange: return "out of range";
    case StatusCode::kNoSpace: return "no space";
    case StatusCode::kChanged: return "changed meanwhile";
    case StatusCode::kIo: return "input/output error";
    case StatusCode::kInternal: return "internal error";
    case StatusCode::kReported: return "already reported";
  }
  return "unknown";
}

int Status::errno_value() const {
  if (errno_value_ != 0) return errno_value_;
  switch (code_) {
    case StatusCode::kNotFound: return ENOENT;
    case StatusCode::kAlreadyExists: return EEXIST;
    case StatusCode::kPermissionDenied: return EACCES;
    case StatusCode::kNoSpace: return ENOSPC;
    case StatusCode::kIo: return EIO;
    default: return 0;
  }
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  std::string message(context);
  message += ": ";
  if (message_.starts_with(message)) return *this;
  message += message_;
  return Status(code_, std::move(message), errno_value_);
}

Status InvalidArgumentError(std::string message) { return Status(StatusCode::kInvalidArgument, std::move(message)); }
Status NotFoundError(std::string message) { return Status(StatusCode::kNotFound, std::move(message)); }
Status AlreadyExistsError(std::string message) { return Status(StatusCode::kAlreadyExists, std::move(message)); }
Status PermissionDeniedError(std::string message) { return Status(StatusCode::kPermissionDenied, std::move(message)); }
Status CorruptError(std::string message) { return Status(StatusCode::kCorrupt, std::move(message)); }
Status UnsupportedError(std::string message) { return Status(StatusCode::kUnsupported, std::move(message)); }
Status OutOfRangeError(std::string message) { return Status(StatusCode::kOutOfRange, std::move(message)); }
Status NoSpaceError(std::string message) { return Status(StatusCode::kNoSpace, std::move(message)); }
Status ChangedError(std::string message) { return Status(StatusCode::kChanged, std::move(message)); }
Status InternalError(std::string message) { return Status(StatusCode::kInternal, std::move(message)); }

Status ErrnoError(int errno_value, std::string message) {
  message += ": ";
  message += std::strerror(errno_value);
  StatusCode code = StatusCode::kIo;
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR: code = StatusCode::kNotFound; break;
    case EEXIST:
    case ENOTEMPTY: code = StatusCode::kAlreadyExists; break;
    case EACCES:
    case EPERM:
    case EROFS: code = StatusCode::kPermissionDenied; break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM: code = StatusCode::kNoSpace; break;
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP: code = StatusCode::kInvalidArgument; break;
    default: break;
  }
  return Status(code, std::move(message), errno_value);
}

}  // namespace h5zarr
