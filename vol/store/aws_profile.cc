#include "store/aws_profile.h"

#include <sys/wait.h>

#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "store/http_call.h"
#include "store/url.h"

namespace h5zarr {
namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t kMaxAnswerBytes = 64 << 10;
// The server that Amazon's container service has in every container.
constexpr char kContainerServer[] = "http://169.254.170.2";
constexpr int kContainerTimeoutSeconds = 5;

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

// "2026-11-30T12:00:00Z"; 0 where it is something else.
std::time_t ParseTime(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || (*end != 'Z' && *end != '.' && *end != '+' && *end != '\0')) return 0;
  return timegm(&parts);
}

// The keys in an answer in JSON. `what` for messages: never what it says.
Result<AwsCredentials> ParseAnswer(const std::string& text, std::string_view token_name,
                                   const std::string& what) {
  const Status failed = PermissionDeniedError(what + " gives no keys for S3");
  json::parser parser;
  const simdjson::padded_string padded(text);
  json::document document;
  if (parser.iterate(padded).get(document)) return failed;
  const auto member = [&document](std::string_view name) {
    std::string_view value;
    return document.find_field_unordered(name).get_string().get(value) ? std::string()
                                                                       : std::string(value);
  };
  AwsCredentials credentials{member("AccessKeyId"), member("SecretAccessKey"), member(token_name),
                             ParseTime(member("Expiration"))};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return failed;
  return credentials;
}

Result<AwsCredentials> RunForKeys(const std::string& command) {
  const std::string what = "the profile's credential_process";
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return PermissionDeniedError(what + " cannot be started");
  std::string answer(kMaxAnswerBytes, '\0');
  answer.resize(std::fread(answer.data(), 1, answer.size(), pipe));
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return PermissionDeniedError(what + " failed (exit status " +
                                 std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) + ")");
  }
  return ParseAnswer(answer, "SessionToken", what);
}

// As a container's environment says (ECS, EKS).
Result<std::optional<AwsCredentials>> AskContainer() {
  std::string address = Variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!address.empty()) address.insert(0, kContainerServer);
  if (address.empty()) address = Variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (address.empty()) return std::optional<AwsCredentials>();
  H5ZARR_ASSIGN_OR_RETURN(const Url url, ParseUrl(address));
  HttpOptions options;
  options.retries = 2;
  options.timeout_s = kContainerTimeoutSeconds;
  std::string token = Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file_name = Variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file_name.empty()) {
    std::ifstream file(file_name);
    std::getline(file, token);
  }
  RequestHead head{"GET", url};
  if (!token.empty()) head.headers.push_back("Authorization: " + token);
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<HttpSession> session, HttpSession::Make(url, options));
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, CallNow({std::move(head)}, session));
  const std::string what = "the container's server of credentials";
  if (answer.headers.status != 200) {
    return PermissionDeniedError(what + ": " + answer.headers.ShownStatus());
  }
  H5ZARR_ASSIGN_OR_RETURN(AwsCredentials credentials, ParseAnswer(answer.body, "Token", what));
  return std::optional<AwsCredentials>(std::move(credentials));
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
  AwsProfile profile;
  profile.name_ = Variable("AWS_PROFILE");
  const bool is_named = !profile.name_.empty();
  if (!is_named) profile.name_ = "default";
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

Result<std::optional<AwsCredentials>> AwsProfile::Credentials() const {
  if (IsAnonymous()) return std::optional<AwsCredentials>();
  AwsCredentials found{Variable("AWS_ACCESS_KEY_ID"), Variable("AWS_SECRET_ACCESS_KEY"),
                       Variable("AWS_SESSION_TOKEN")};
  // (A profile that is named goes before keys in the environment only for those without such keys.)
  if (!found.access_key.empty() && !found.secret_key.empty()) return std::optional(std::move(found));
  for (const auto* map : {&keys_, &settings_}) {
    const auto member = [map](const char* name) {
      const auto entry = map->find(name);
      return entry == map->end() ? std::string() : entry->second;
    };
    found = {member("aws_access_key_id"), member("aws_secret_access_key"), member("aws_session_token")};
    if (!found.access_key.empty() && !found.secret_key.empty()) return std::optional(std::move(found));
  }
  if (const std::string command = Setting("credential_process"); !command.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(found, RunForKeys(command));
    return std::optional(std::move(found));
  }
  for (const char* name : {"role_arn", "sso_session", "sso_start_url", "web_identity_token_file"}) {
    if (Setting(name).empty()) continue;
    return UnsupportedError("profile '" + name_ + "' gets its keys by " + name +
                            ", which is not supported: 'aws configure export-credentials --profile " + name_ +
                            " --format env' gives keys for the environment");
  }
  return AskContainer();
}

}  // namespace h5zarr
