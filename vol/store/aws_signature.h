// Signature Version 4: how requests to S3, and to what speaks its protocol, are signed.
//
// Within store/ only. Pure but for the hashes, which libcrypto computes.
#ifndef H5ZARR_STORE_AWS_SIGNATURE_H_
#define H5ZARR_STORE_AWS_SIGNATURE_H_

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/http_session.h"

namespace h5zarr {

struct AwsCredentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
  std::time_t expires = 0;    // 0: not known, or never
};

// What a signature is good for, beside the day.
struct AwsScope {
  std::string region;
  std::string service;
};

// The headers that sign `head` at the time `now`: all of its own headers are signed with them. For "s3" also
// that of the body's hash. The path and the query must be encoded as S3 wants it, each parameter alone.
// Errors as those of Sha256Of.
Result<std::vector<std::string>> SignV4(const RequestHead& head, const AwsCredentials& credentials,
                                        const AwsScope& scope, std::time_t now);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_AWS_SIGNATURE_H_
