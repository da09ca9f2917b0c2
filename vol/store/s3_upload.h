// S3Upload: an object that is written piece by piece: as one request where it is small, else in parts of
// which several are on their way at once.
//
// Within store/ only.
#ifndef H5ZARR_STORE_S3_UPLOAD_H_
#define H5ZARR_STORE_S3_UPLOAD_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "store/http_call.h"
#include "store/http_engine.h"
#include "store/s3_client.h"
#include "store/store.h"

namespace h5zarr {

// Objects from here on are written in parts.
inline constexpr uint64_t kS3PartBytes = 16 << 20;

class S3Upload : public ObjectWriter {
 public:
  // Is told what was written, and its ETag.
  using OnWritten = std::function<void(const std::string& etag, uint64_t bytes)>;

  // Writes the object `key` of the bucket. `client` must outlive it. Sends nothing yet.
  S3Upload(S3Client* client, std::string key, OnWritten on_written)
      : client_(*client), key_(std::move(key)), on_written_(std::move(on_written)) {}
  ~S3Upload() override;

  Status Append(ByteSpan bytes) override;
  Status Commit() override;

  // Append of bytes that stay where they are until Commit: they are not copied. Nothing but this may be
  // called before Commit then.
  Status AppendLasting(ByteSpan bytes);

 private:
  struct Part {
    HttpWaiter waiter;
    std::shared_ptr<HttpCall> call;
    Buffer owner;  // of its body, unless that is the caller's
  };

  std::string Name() const { return "writing '" + client_.UrlOf(key_).Shown() + "'"; }
  Status Begin();
  Status SendPart(ByteSpan bytes, Buffer owner);
  Status FinishPart();
  Status FinishAll();
  Status Complete();

  S3Client& client_;
  const std::string key_;
  const OnWritten on_written_;
  Buffer gathered_;  // of the next part: its first gathered_bytes_
  uint64_t gathered_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  std::string upload_id_;  // empty: not begun, or done with
  std::deque<std::unique_ptr<Part>> in_flight_;
  std::vector<std::string> etags_;  // of the parts that are there
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_S3_UPLOAD_H_
