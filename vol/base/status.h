// Status and Result<T>: how every function below the C boundary reports failure.
//
// Not an exception hierarchy and not an HDF5 error stack: host/ translates a Status into one.
// Any layer may include this header; it includes the standard library only.
#ifndef H5ZARR_BASE_STATUS_H_
#define H5ZARR_BASE_STATUS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace h5zarr {

enum class StatusCode {
  kOk = 0,
  kInvalidArgument,   // the caller's request makes no sense (shape, selection, key, option)
  kNotFound,          // what the caller named does not exist
  kAlreadyExists,     // what the caller wants to create exists
  kPermissionDenied,  // the system or the open mode refuses
  kCorrupt,           // stored bytes contradict their format or checksum
  kUnsupported,       // valid, but not implemented here
  kOutOfRange,        // outside an extent, or a size that does not fit
  kNoSpace,           // disk, quota or memory budget exhausted
  kChanged,           // an object is no longer the one that was read before (see Generation)
  kIo,                // any other failure of the operating system or network
  kInternal,          // a broken invariant of this library
  kReported,          // the cause was already reported to whoever shows errors (host/ only)
};

// Short English name of `code`, for messages.
std::string_view StatusCodeName(StatusCode code);

// The outcome of an operation: ok, or a code, a message for a person, and the errno if there is one.
// Values are immutable and cheap to move; safe to pass between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message, int errno_value = 0)
      : code_(code), errno_value_(errno_value), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // The errno to report to a program that asks for one (h5py does): the system's own where a
  // system call failed, else one that fits the code (kNotFound → ENOENT), else 0.
  int errno_value() const;

  // The same failure with "`context`: " before its message, where it does not begin so already; ok stays ok.
  Status WithContext(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  int errno_value_ = 0;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status AlreadyExistsError(std::string message);
Status PermissionDeniedError(std::string message);
Status CorruptError(std::string message);
Status UnsupportedError(std::string message);
Status OutOfRangeError(std::string message);
Status NoSpaceError(std::string message);
Status ChangedError(std::string message);
Status InternalError(std::string message);
// The failure that `errno_value` describes, with its text appended to `message`.
Status ErrnoError(int errno_value, std::string message);

// A value or the Status that prevented it. Never holds an ok Status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}        // NOLINT: implicit on purpose
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {  // NOLINT
    if (std::get<1>(state_).ok()) {
      state_.template emplace<1>(StatusCode::kInternal, "Result made from an ok Status");
    }
  }

  bool ok() const { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }
  // REQUIRES: ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace h5zarr

#define H5ZARR_CONCAT_INNER(a, b) a##b
#define H5ZARR_CONCAT(a, b) H5ZARR_CONCAT_INNER(a, b)

// Returns the Status from the enclosing function unless `expr` is ok.
#define H5ZARR_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                      \
    if (::h5zarr::Status h5zarr_status = (expr); !h5zarr_status.ok()) return h5zarr_status; \
  } while (0)

// Evaluates `expr` (a Result), returns its Status on failure, else moves the value into `decl`.
#define H5ZARR_ASSIGN_OR_RETURN(decl, expr) \
  H5ZARR_ASSIGN_OR_RETURN_IMPL(H5ZARR_CONCAT(h5zarr_result_, __LINE__), decl, expr)
#define H5ZARR_ASSIGN_OR_RETURN_IMPL(result, decl, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return result.status();              \
  decl = std::move(result).value()

#endif  // H5ZARR_BASE_STATUS_H_
