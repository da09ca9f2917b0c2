// Settings and keys for S3, from where users of Amazon's tools keep them: environment and files.
//
// Within store/ only.
#ifndef H5ZARR_STORE_AWS_PROFILE_H_
#define H5ZARR_STORE_AWS_PROFILE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/aws_key_sources.h"
#include "store/aws_signature.h"

namespace h5zarr {

// A file of Amazon's form: sections of "name = value"; values of indented lines are found under "outer.name".
using AwsSections = std::map<std::string, std::map<std::string, std::string>>;
AwsSections ParseAwsFile(std::string_view text);

class AwsProfile {
 public:
  // Of the profile that AWS_PROFILE names ("default"): from ~/.aws/config and ~/.aws/credentials, or where
  // AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE say. kInvalidArgument when a profile is named that is
  // in neither.
  static Result<AwsProfile> Load();

  // The environment's word goes first. Empty where nobody says.
  std::string Region() const;
  std::string S3Endpoint() const;
  std::string AddressingStyle() const;  // "path", "virtual", "auto"
  bool RequesterPays() const;
  // Where access is wanted without keys, whatever keys there are.
  bool IsAnonymous() const;
  // Nothing where there are none. May run the program that the profile names for it, take on its role, or ask the
  // server that the environment names; may block. kPermissionDenied when these fail.
  Result<std::optional<AwsCredentials>> Credentials() const;
  // For messages, where there are none: where they were looked for.
  std::string WhyNoKeys() const;

 private:
  static Result<AwsProfile> Load(const std::string& name, bool is_named);
  static std::optional<AwsCredentials> EnvironmentKeys();
  std::optional<AwsCredentials> OwnKeys() const;
  AwsRole RoleOf(const std::string& arn) const;
  Result<AwsCredentials> KeysOfRole(const AwsRole& role, int depth) const;
  Result<std::optional<AwsCredentials>> KeysOfProfile(int depth) const;
  std::string Setting(const char* name) const;

  std::string name_;
  std::map<std::string, std::string> settings_;  // of the profile
  std::map<std::string, std::string> keys_;      // of the file of keys
  std::map<std::string, std::string> services_;  // what its member "services" names
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_AWS_PROFILE_H_
