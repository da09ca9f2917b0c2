#include "store/aws_key_sources.h"

#include <simdjson.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/sha256.h"
#include "store/http_call.h"
#include "store/s3_listing.h"
#include "store/url.h"

namespace h5zarr {
namespace {

namespace json = simdjson::ondemand;

constexpr std::size_t kMaxAnswerBytes = 64 << 10;
// The server that Amazon's container service has in every container…
constexpr char kContainerServer[] = "http://169.254.170.2";
constexpr int kContainerTimeoutSeconds = 5;
// …and the one that a machine has.
constexpr char kInstanceServer[] = "http://169.254.169.254";
constexpr char kInstanceKeys[] = "/latest/meta-data/iam/security-credentials/";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "2026-11-30T12:00:00Z"; 0 where it is something else.
std::time_t ParseTime(const std::string& text) {
  std::tm parts{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || (*end != 'Z' && *end != '.' && *end != '+' && *end != '\0')) return 0;
  return timegm(&parts);
}

// The keys in an answer in JSON. `what` for messages: never what it says.
Result<AwsCredentials> ParseAnswer(const std::string& text, std::string_view token_name, const std::string& what) {
  const Status failed = PermissionDeniedError(what + " gives no keys for S3");
  json::parser parser;
  const simdjson::padded_string padded(text);
  json::document document;
  if (parser.iterate(padded).get(document)) return failed;
  const auto member = [&document](std::string_view name) {
    std::string_view value;
    return document.find_field_unordered(name).get_string().get(value) ? std::string() : std::string(value);
  };
  AwsCredentials credentials{member("AccessKeyId"), member("SecretAccessKey"), member(token_name),
                             ParseTime(member("Expiration"))};
  if (credentials.access_key.empty() || credentials.secret_key.empty()) return failed;
  return credentials;
}

}  // namespace

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
  options.direct = true;
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

namespace {

// One question to the machine's own server.
Result<std::string> AskInstanceFor(std::string_view method, const std::string& path, const std::string& header) {
  std::string address = Variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (address.empty()) address = kInstanceServer;
  while (address.ends_with('/')) address.pop_back();
  H5ZARR_ASSIGN_OR_RETURN(const Url url, ParseUrl(address + path));
  HttpOptions options;
  options.retries = 0;
  options.timeout_s = 1;
  options.direct = true;
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<HttpSession> session, HttpSession::Make(url, options));
  const Result<HttpCall::Outcome> answer = CallNow({RequestHead{method, url, {header}}}, session);
  const std::string what = "the machine's server of credentials (AWS_EC2_METADATA_DISABLED=true: it is not asked)";
  if (!answer.ok()) return PermissionDeniedError(what + ": " + answer.status().message());
  if (answer->headers.status != 200) return PermissionDeniedError(what + ": " + answer->headers.ShownStatus());
  return answer->body;
}

std::string Parameter(const char* name, std::string_view value) {
  return std::string("&") + name + "=" + EncodeParameter(value);
}

// The answer to a form that asks for a role's keys, signed where there is a `sign`.
Result<AwsCredentials> AskForRole(const AwsRole& role, const std::string& action, const std::string& more,
                                  SignRequest sign) {
  const std::string region = role.region.empty() ? "us-east-1" : role.region;
  std::string endpoint = role.endpoint;
  if (endpoint.empty()) {
    endpoint = "https://sts." + region + (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
  }
  H5ZARR_ASSIGN_OR_RETURN(Url url, ParseUrl(endpoint));
  if (url.path.empty()) url.path = "/";
  const std::string form = "Action=" + action + "&Version=2011-06-15" + Parameter("RoleArn", role.arn) +
                           Parameter("RoleSessionName", role.session_name.empty() ? "h5zarr" : role.session_name) +
                           more;
  HttpCall::Query query{{"POST", url}, AsBytes(form)};
  query.content_type = "application/x-www-form-urlencoded";
  H5ZARR_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256Of(query.body));
  query.head.body_sha256 = HexOf(digest);
  HttpOptions options;
  options.retries = 3;
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<HttpSession> session, HttpSession::Make(url, options, std::move(sign)));
  H5ZARR_ASSIGN_OR_RETURN(const HttpCall::Outcome answer, CallNow(std::move(query), session));
  const std::string what = "role '" + role.arn + "', asked for at '" + url.Shown() + "'";
  if (answer.headers.status != 200) {
    return PermissionDeniedError(what + ": " + answer.headers.ShownStatus() + ShownErrorCode(answer.body));
  }
  const auto text = [&answer](const char* name) { return XmlText(answer.body, name).value_or(""); };
  AwsCredentials keys{text("AccessKeyId"), text("SecretAccessKey"), text("SessionToken"),
                      ParseTime(text("Expiration"))};
  if (keys.access_key.empty() || keys.secret_key.empty()) return PermissionDeniedError(what + " gives no keys");
  return keys;
}

}  // namespace

Result<AwsCredentials> AskInstance() {
  H5ZARR_ASSIGN_OR_RETURN(const std::string token,
                          AskInstanceFor("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600"));
  const std::string header = "X-aws-ec2-metadata-token: " + token;
  if (token.find_first_of("\r\n") != std::string::npos) {
    return PermissionDeniedError("the machine's server of credentials answers with no token");
  }
  H5ZARR_ASSIGN_OR_RETURN(std::string role, AskInstanceFor("GET", kInstanceKeys, header));
  role = role.substr(0, role.find_first_of("\r\n"));
  H5ZARR_ASSIGN_OR_RETURN(const std::string answer, AskInstanceFor("GET", kInstanceKeys + PercentEncode(role), header));
  return ParseAnswer(answer, "Token", "the machine's server of credentials");
}

Result<AwsCredentials> AssumeRole(const AwsRole& role, const AwsCredentials& by) {
  const std::string region = role.region.empty() ? "us-east-1" : role.region;
  const auto sign = [by, region](const RequestHead& head) {
    return SignV4(head, by, {region, "sts"}, std::time(nullptr));
  };
  const std::string more = role.external_id.empty() ? "" : Parameter("ExternalId", role.external_id);
  return AskForRole(role, "AssumeRole", more, sign);
}

Result<AwsCredentials> AssumeRoleByToken(const AwsRole& role, const std::string& token_file) {
  std::ifstream file(token_file, std::ios::binary);
  std::string token((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  if (token.empty()) return PermissionDeniedError("no token for role '" + role.arn + "' in '" + token_file + "'");
  return AskForRole(role, "AssumeRoleWithWebIdentity", Parameter("WebIdentityToken", token), nullptr);
}

}  // namespace h5zarr
