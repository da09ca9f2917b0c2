#include "store/s3_upload.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/s3_listing.h"
#include "store/url.h"

namespace h5zarr {
namespace {

constexpr std::size_t kPartsInFlight = 4;
constexpr std::size_t kMaxParts = 10'000;  // S3's limit

std::string XmlEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') escaped += "&amp;";
    else if (c == '<') escaped += "&lt;";
    else if (c == '"') escaped += "&quot;";
    else escaped += c;
  }
  return escaped;
}

}  // namespace

S3Upload::~S3Upload() {
  for (const std::unique_ptr<Part>& part : in_flight_) part->waiter.Wait();
  // What was sent costs its owner money until it is given up.
  if (!upload_id_.empty()) {
    (void)client_.Call("DELETE", key_, "?uploadId=" + EncodeParameter(upload_id_)).ok();
  }
}

Status S3Upload::Begin() {
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, client_.Call("POST", key_, "?uploads="));
  if (answer.headers.status != 200) return S3Error(answer, Name());
  upload_id_ = XmlText(answer.body, "UploadId").value_or("");
  if (upload_id_.empty()) return CorruptError(Name() + ": the answer names no upload");
  return OkStatus();
}

Status S3Upload::SendPart(ByteSpan bytes, Buffer owner) {
  if (upload_id_.empty()) H5ZARR_RETURN_IF_ERROR(Begin());
  if (in_flight_.size() == kPartsInFlight) H5ZARR_RETURN_IF_ERROR(FinishPart());
  const std::size_t number = etags_.size() + in_flight_.size() + 1;
  if (number > kMaxParts) {
    return OutOfRangeError(Name() + ": more than " + std::to_string(kMaxParts) + " parts of " +
                           std::to_string(kS3PartBytes >> 20) + " MiB");
  }
  auto part = std::make_unique<Part>();
  part->owner = std::move(owner);
  H5ZARR_ASSIGN_OR_RETURN(
      HttpCall::Query query,
      client_.Prepare("PUT", key_, "?partNumber=" + std::to_string(number) + "&uploadId=" + EncodeParameter(upload_id_),
                      {}, bytes));
  part->call = std::make_shared<HttpCall>(std::move(query), client_.session(), part->waiter.OnDone());
  H5ZARR_RETURN_IF_ERROR(part->waiter.Submit(part->call));
  in_flight_.push_back(std::move(part));
  return OkStatus();
}

Status S3Upload::FinishPart() {
  const std::unique_ptr<Part> part = std::move(in_flight_.front());
  in_flight_.pop_front();
  part->waiter.Wait();
  const HttpCall::Outcome& answer = part->call->outcome();
  H5ZARR_RETURN_IF_ERROR(answer.status);
  if (answer.headers.status != 200) return S3Error(answer, Name());
  if (answer.headers.etag.empty()) return CorruptError(Name() + ": the answer has no ETag");
  etags_.push_back(answer.headers.etag);
  return OkStatus();
}

Status S3Upload::FinishAll() {
  Status first;
  while (!in_flight_.empty()) {
    Status status = FinishPart();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status S3Upload::Append(ByteSpan bytes) {
  total_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (gathered_.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(gathered_, Buffer::Allocate(kS3PartBytes));
    }
    const std::size_t taken = std::min<std::size_t>(bytes.size(), kS3PartBytes - gathered_bytes_);
    std::memcpy(gathered_.data() + gathered_bytes_, bytes.data(), taken);
    gathered_bytes_ += taken;
    bytes = bytes.subspan(taken);
    // (A full one stays until more comes: the last part is sent by Commit.)
    if (gathered_bytes_ == kS3PartBytes && !bytes.empty()) {
      const ByteSpan part = gathered_.span();
      gathered_bytes_ = 0;
      H5ZARR_RETURN_IF_ERROR(SendPart(part, std::exchange(gathered_, Buffer())));
    }
  }
  return OkStatus();
}

Status S3Upload::AppendLasting(ByteSpan bytes) {
  total_bytes_ += bytes.size();
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), kS3PartBytes))) {
    H5ZARR_RETURN_IF_ERROR(SendPart(bytes.first(std::min<std::size_t>(bytes.size(), kS3PartBytes)), Buffer()));
  }
  return OkStatus();
}

Status S3Upload::Commit() {
  const ByteSpan rest = gathered_.span().first(gathered_bytes_);
  if (upload_id_.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, client_.Call("PUT", key_, "", {}, rest));
    if (answer.headers.status != 200) return S3Error(answer, Name());
    on_written_(answer.headers.etag, total_bytes_);
    return OkStatus();
  }
  if (!rest.empty()) H5ZARR_RETURN_IF_ERROR(SendPart(rest, std::exchange(gathered_, Buffer())));
  H5ZARR_RETURN_IF_ERROR(FinishAll());
  return Complete();
}

Status S3Upload::Complete() {
  std::string parts = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags_.size(); ++i) {
    parts +=
        "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + XmlEscaped(etags_[i]) + "</ETag></Part>";
  }
  parts += "</CompleteMultipartUpload>";
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer,
                          client_.Call("POST", key_, "?uploadId=" + EncodeParameter(upload_id_), {}, AsBytes(parts)));
  // S3 may say 200 before it knows: what counts is in the body.
  std::optional<std::string> etag = XmlText(answer.body, "ETag");
  const bool is_done =
      answer.headers.status == 200 && etag && answer.body.find("<CompleteMultipartUploadResult") != std::string::npos;
  if (!is_done) return S3Error(answer, Name());
  upload_id_.clear();
  on_written_(*etag, total_bytes_);
  return OkStatus();
}

}  // namespace h5zarr
