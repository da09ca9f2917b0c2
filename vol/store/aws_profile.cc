#include "store/aws_profile.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "store/aws_key_sources.h"

namespace h5zarr {
namespace {

// Profiles whose roles are taken on by other profiles' roles.
constexpr int kMaxRoles = 5;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool IsTrue(const std::string& text) {
  return text == "1" || text == "true" || text == "True" || text == "TRUE" || text == "yes" || text == "YES";
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  while (!text.empty() && kBlank.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kBlank.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::string FileNamed(const char* variable, const char* in_home) {
  std::string name = Variable(variable);
  const std::string home = Variable("HOME");
  if (name.empty()) return home.empty() ? "" : home + in_home;
  if (name.starts_with("~/")) name.replace(0, 1, home);
  return name;
}

AwsSections ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return {};
  return ParseAwsFile(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

}  // namespace

AwsSections ParseAwsFile(std::string_view text) {
  AwsSections sections;
  std::map<std::string, std::string>* section = nullptr;
  std::string outer;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view trimmed = Trimmed(line);
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';') continue;
    if (trimmed[0] == '[') {
      const std::string_view name = Trimmed(trimmed.substr(1, trimmed.find(']') - 1));
      section = &sections[std::string(name)];
      outer.clear();
      continue;
    }
    const std::size_t equals = trimmed.find('=');
    if (equals == std::string_view::npos || section == nullptr) continue;
    const std::string name(Trimmed(trimmed.substr(0, equals)));
    std::string_view value = Trimmed(trimmed.substr(equals + 1));
    for (const std::string_view comment : {" #", " ;"}) value = Trimmed(value.substr(0, value.find(comment)));
    const bool nested = (line[0] == ' ' || line[0] == '\t') && !outer.empty();
    if (!nested) outer = value.empty() ? name : "";
    (*section)[nested ? outer + "." + name : name] = value;
  }
  return sections;
}

Result<AwsProfile> AwsProfile::Load() {
  const std::string name = Variable("AWS_PROFILE");
  return name.empty() ? Load("default", false) : Load(name, true);
}

Result<AwsProfile> AwsProfile::Load(const std::string& name, bool is_named) {
  AwsProfile profile;
  profile.name_ = name;
  AwsSections config = ReadFile(FileNamed("AWS_CONFIG_FILE", "/.aws/config"));
  AwsSections keys = ReadFile(FileNamed("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"));
  auto settings = config.find("profile " + profile.name_);
  if (settings == config.end() && profile.name_ == "default") settings = config.find(profile.name_);
  const auto own_keys = keys.find(profile.name_);
  if (is_named && settings == config.end() && own_keys == keys.end()) {
    return InvalidArgumentError("AWS_PROFILE names the profile '" + profile.name_ +
                                "', which is in no file of Amazon's settings");
  }
  if (settings != config.end()) profile.settings_ = std::move(settings->second);
  if (own_keys != keys.end()) profile.keys_ = std::move(own_keys->second);
  const auto services = config.find("services " + profile.Setting("services"));
  if (services != config.end()) profile.services_ = std::move(services->second);
  return profile;
}

std::string AwsProfile::Setting(const char* name) const {
  for (const auto* map : {&settings_, &keys_}) {
    if (const auto found = map->find(name); found != map->end()) return found->second;
  }
  return "";
}

std::string AwsProfile::Region() const {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = Variable(name); !region.empty()) return region;
  }
  return Setting("region");
}

std::string AwsProfile::S3Endpoint() const {
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (std::string endpoint = Variable(name); !endpoint.empty()) return endpoint;
  }
  if (const auto found = services_.find("s3.endpoint_url"); found != services_.end()) return found->second;
  for (const char* name : {"s3.endpoint_url", "endpoint_url"}) {
    if (std::string endpoint = Setting(name); !endpoint.empty()) return endpoint;
  }
  return "";
}

std::string AwsProfile::AddressingStyle() const { return Setting("s3.addressing_style"); }

bool AwsProfile::RequesterPays() const {
  return Variable("AWS_REQUEST_PAYER") == "requester" || Setting("request_payer") == "requester";
}

bool AwsProfile::IsAnonymous() const { return IsTrue(Variable("AWS_NO_SIGN_REQUEST")); }

std::string AwsProfile::WhyNoKeys() const {
  if (IsAnonymous()) return "AWS_NO_SIGN_REQUEST says so";
  return "there is none in AWS_ACCESS_KEY_ID, none of profile '" + name_ +
         "' in Amazon's files (~/.aws/credentials, ~/.aws/config), and the environment names no server that has any "
         "(a machine's own is asked with AWS_EC2_METADATA_DISABLED=false)";
}

std::optional<AwsCredentials> AwsProfile::EnvironmentKeys() {
  AwsCredentials found{Variable("AWS_ACCESS_KEY_ID"), Variable("AWS_SECRET_ACCESS_KEY"), Variable("AWS_SESSION_TOKEN")};
  if (found.access_key.empty() || found.secret_key.empty()) return std::nullopt;
  return found;
}

std::optional<AwsCredentials> AwsProfile::OwnKeys() const {
  for (const auto* map : {&keys_, &settings_}) {
    const auto member = [map](const char* name) {
      const auto entry = map->find(name);
      return entry == map->end() ? std::string() : entry->second;
    };
    AwsCredentials found{member("aws_access_key_id"), member("aws_secret_access_key"), member("aws_session_token")};
    if (!found.access_key.empty() && !found.secret_key.empty()) return found;
  }
  return std::nullopt;
}

Result<std::optional<AwsCredentials>> AwsProfile::Credentials() const {
  if (IsAnonymous()) return std::optional<AwsCredentials>();
  // (A profile that is named goes before keys in the environment only for those without such keys.)
  if (auto keys = EnvironmentKeys()) return keys;
  AwsRole role = RoleOf(Variable("AWS_ROLE_ARN"));
  const std::string token_file = Variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!role.arn.empty() && !token_file.empty() && Setting("role_arn").empty()) {
    role.session_name = Variable("AWS_ROLE_SESSION_NAME");
    H5ZARR_ASSIGN_OR_RETURN(AwsCredentials keys, AssumeRoleByToken(role, token_file));
    return std::optional(std::move(keys));
  }
  return KeysOfProfile(0);
}

AwsRole AwsProfile::RoleOf(const std::string& arn) const {
  AwsRole role;
  role.arn = arn;
  role.session_name = Setting("role_session_name");
  role.external_id = Setting("external_id");
  role.region = Region();
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (role.endpoint.empty()) role.endpoint = Variable(name);
  }
  return role;
}

// By the role that the profile names.
Result<AwsCredentials> AwsProfile::KeysOfRole(const AwsRole& role, int depth) const {
  if (const std::string file = Setting("web_identity_token_file"); !file.empty()) {
    return AssumeRoleByToken(role, file);
  }
  if (depth == kMaxRoles) return PermissionDeniedError("profile '" + name_ + "': roles without end");
  const std::string source = Setting("source_profile"), kind = Setting("credential_source");
  std::optional<AwsCredentials> by;
  if (source == name_) {
    by = OwnKeys();
  } else if (!source.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(const AwsProfile other, Load(source, true));
    H5ZARR_ASSIGN_OR_RETURN(by, other.KeysOfProfile(depth + 1));
  } else if (kind == "Environment") {
    by = EnvironmentKeys();
  } else if (kind == "EcsContainer") {
    H5ZARR_ASSIGN_OR_RETURN(by, AskContainer());
  } else if (kind == "Ec2InstanceMetadata") {
    H5ZARR_ASSIGN_OR_RETURN(by, AskInstance());
  }
  if (by) return AssumeRole(role, *by);
  return PermissionDeniedError("profile '" + name_ +
                               "' has a role_arn, but no keys to take the role on with: "
                               "source_profile, credential_source or web_identity_token_file say whose");
}

Result<std::optional<AwsCredentials>> AwsProfile::KeysOfProfile(int depth) const {
  if (const AwsRole role = RoleOf(Setting("role_arn")); !role.arn.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(AwsCredentials keys, KeysOfRole(role, depth));
    return std::optional(std::move(keys));
  }
  if (auto keys = OwnKeys()) return keys;
  if (const std::string command = Setting("credential_process"); !command.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(AwsCredentials keys, RunForKeys(command));
    return std::optional(std::move(keys));
  }
  for (const char* name : {"sso_session", "sso_start_url"}) {
    if (Setting(name).empty()) continue;
    return UnsupportedError("profile '" + name_ + "' gets its keys by " + name +
                            ", which is not supported: 'aws configure export-credentials --profile " + name_ +
                            " --format env' gives keys for the environment");
  }
  H5ZARR_ASSIGN_OR_RETURN(auto keys, AskContainer());
  // Where there is no such server the question takes a second: it is asked where somebody says so.
  const bool may_ask = !Variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").empty() ||
                       Setting("credential_source") == "Ec2InstanceMetadata" ||
                       Variable("AWS_EC2_METADATA_DISABLED") == "false";
  if (keys || !may_ask || IsTrue(Variable("AWS_EC2_METADATA_DISABLED"))) return keys;
  H5ZARR_ASSIGN_OR_RETURN(keys, AskInstance());
  return keys;
}

}  // namespace h5zarr
