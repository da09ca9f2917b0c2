// Who gives keys for S3 that stand in no file: a program, a container's or a machine's own server, and Amazon's
// service for roles.
//
// Within store/ only. Each asks somebody and blocks; kPermissionDenied where no keys come of it. Messages never hold
// what was said.
#ifndef H5ZARR_STORE_AWS_KEY_SOURCES_H_
#define H5ZARR_STORE_AWS_KEY_SOURCES_H_

#include <optional>
#include <string>

#include "base/status.h"
#include "store/aws_signature.h"

namespace h5zarr {

// Runs a profile's `credential_process`.
Result<AwsCredentials> RunForKeys(const std::string& command);

// As a container's environment says (ECS, EKS); nothing where it says nothing.
Result<std::optional<AwsCredentials>> AskContainer();

// The server that a machine of Amazon's has (version 2 of its protocol), or that AWS_EC2_METADATA_SERVICE_ENDPOINT
// names. Gives up after about a second: elsewhere there is none.
Result<AwsCredentials> AskInstance();

// A role to be taken on.
struct AwsRole {
  std::string arn;
  std::string session_name;  // empty: a name of ours
  std::string external_id;   // empty: none
  std::string region;        // of the service that is asked
  std::string endpoint;      // its URL; empty: Amazon's
};
// …by whoever has the keys `by`.
Result<AwsCredentials> AssumeRole(const AwsRole& role, const AwsCredentials& by);
// …by whoever has the token in the file `token_file` (EKS and others).
Result<AwsCredentials> AssumeRoleByToken(const AwsRole& role, const std::string& token_file);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_AWS_KEY_SOURCES_H_
