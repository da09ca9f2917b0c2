#include "tools/command.h"

#include <cstdio>

namespace h5zarr::tools {

std::string Words::value(const std::string& name, const std::string& otherwise) const {
  const auto found = values.find(name);
  return found == values.end() ? otherwise : found->second;
}

Result<Words> ParseWords(const std::vector<std::string>& arguments, const std::set<std::string>& with_value,
                         const std::set<std::string>& flags) {
  Words words;
  bool options = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!options || !word.starts_with("-") || word == "-") {
      words.operands.push_back(word);
      continue;
    }
    if (word == "-h") {
      words.flags.insert("help");
      continue;
    }
    if (word == "--") {
      options = false;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name =
        word.starts_with("--") ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    if (with_value.contains(name)) {
      if (equals == std::string::npos && ++i == arguments.size()) {
        return InvalidArgumentError("--" + name + " needs a value");
      }
      words.values[name] = equals == std::string::npos ? arguments[i] : word.substr(equals + 1);
    } else if (flags.contains(name) && equals == std::string::npos) {
      words.flags.insert(name);
    } else {
      return InvalidArgumentError("there is no option " + word);
    }
  }
  return words;
}

int Fail(const Status& status) {
  std::fprintf(stderr, "h5zarr: %s\n", status.message().c_str());
  return kFailed;
}

int Misused(const std::string& what, const char* usage) {
  std::fprintf(stderr, "h5zarr: %s\n%s", what.c_str(), usage);
  return kWrongUsage;
}

std::string ThreadsOf(const Words& words) { return "threads=" + words.value("threads", "auto"); }

}  // namespace h5zarr::tools
