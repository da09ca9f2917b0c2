#include "base/status.h"

#include <cerrno>

#include "catch.h"

namespace h5zarr {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return InvalidArgumentError("odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  H5ZARR_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

TEST_CASE("a failure passes through the macros unchanged") {
  CHECK(*Quarter(8) == 2);
  CHECK(Quarter(6).status().code() == StatusCode::kInvalidArgument);
  CHECK(Quarter(6).status().message() == "odd");
}

TEST_CASE("a failure of the system keeps its errno and says its text") {
  const Status status = ErrnoError(ENOSPC, "cannot write 'x'");
  CHECK(status.code() == StatusCode::kNoSpace);
  CHECK(status.errno_value() == ENOSPC);
  CHECK(status.message().find("No space left") != std::string::npos);
}

TEST_CASE("a code without a system call has an errno that fits") {
  CHECK(NotFoundError("x").errno_value() == ENOENT);
  CHECK(PermissionDeniedError("x").errno_value() == EACCES);
  CHECK(CorruptError("x").errno_value() == 0);
}

TEST_CASE("context goes before the message and keeps code and errno") {
  const Status status = ErrnoError(EACCES, "open").WithContext("array 'a'");
  CHECK(status.message().rfind("array 'a': open", 0) == 0);
  CHECK(status.code() == StatusCode::kPermissionDenied);
  CHECK(status.errno_value() == EACCES);
  CHECK(OkStatus().WithContext("array 'a'").ok());
}

TEST_CASE("context that a message begins with is not said twice") {
  const Status status = CorruptError("gzip: no whole stream");
  CHECK(status.WithContext("gzip").message() == "gzip: no whole stream");
  CHECK(status.WithContext("gz").message() == "gz: gzip: no whole stream");
}

TEST_CASE("a Result never holds an ok Status") {
  const Result<int> result = OkStatus();
  CHECK_FALSE(result.ok());
  CHECK(result.status().code() == StatusCode::kInternal);
}

}  // namespace
}  // namespace h5zarr
