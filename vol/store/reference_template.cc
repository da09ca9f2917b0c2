#include "store/reference_template.h"

#include <charconv>
#include <optional>

namespace h5zarr {
namespace {

constexpr int kMaxDepth = 50;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Evaluates an integer expression. `failed` where it is none, `overflow` where it has no value.
class Evaluator {
 public:
  Evaluator(std::string_view text, const TemplateValues& values) : text_(text), values_(values) {}

  Result<int64_t> Evaluate() {
    const int64_t value = Sum();
    SkipBlanks();
    const std::string what = "template '{{" + std::string(text_) + "}}'";
    if (failed_ || at_ != text_.size()) {
      return UnsupportedError(what + " is neither a name that has a value nor an integer expression");
    }
    if (overflow_) return CorruptError(what + " has no value");
    return value;
  }

 private:
  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(std::string_view token) {
    SkipBlanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  int64_t Sum() {
    int64_t value = Product();
    while (!failed_) {
      if (Take("+")) {
        overflow_ |= __builtin_add_overflow(value, Product(), &value);
      } else if (Take("-")) {
        overflow_ |= __builtin_sub_overflow(value, Product(), &value);
      } else {
        break;
      }
    }
    return value;
  }

  int64_t Product() {
    int64_t value = Operand();
    while (!failed_) {
      if (Take("*")) {
        overflow_ |= __builtin_mul_overflow(value, Operand(), &value);
      } else if (Take("//") || Take("/")) {
        value = Divide(value, Operand(), false);
      } else if (Take("%")) {
        value = Divide(value, Operand(), true);
      } else {
        break;
      }
    }
    return value;
  }

  // As Python divides: rounded down.
  int64_t Divide(int64_t value, int64_t by, bool rest) {
    if (by == 0 || (value == INT64_MIN && by == -1)) {
      overflow_ = true;
      return 0;
    }
    const bool round_down = value % by != 0 && (value < 0) != (by < 0);
    const int64_t quotient = value / by - (round_down ? 1 : 0);
    return rest ? value - quotient * by : quotient;
  }

  int64_t Operand() {
    if (++depth_ > kMaxDepth) failed_ = true;
    int64_t value = 0;
    if (failed_) return value;
    if (Take("(")) {
      value = Sum();
      failed_ = failed_ || !Take(")");
    } else if (Take("-")) {
      overflow_ |= __builtin_sub_overflow(int64_t{0}, Operand(), &value);
    } else {
      value = Atom();
    }
    --depth_;
    return value;
  }

  int64_t Atom() {
    SkipBlanks();
    std::size_t end = at_;
    while (end < text_.size() && IsNameCharacter(text_[end])) ++end;
    const std::string_view atom = text_.substr(at_, end - at_);
    at_ = end;
    int64_t value = 0;
    const auto [last, error] = std::from_chars(atom.data(), atom.data() + atom.size(), value);
    if (!atom.empty() && error == std::errc() && last == atom.data() + atom.size()) return value;
    const auto found = values_.numbers.find(atom);
    failed_ = failed_ || found == values_.numbers.end();
    return failed_ ? 0 : found->second;
  }

  const std::string_view text_;
  const TemplateValues& values_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
  bool overflow_ = false;
};

}  // namespace

Result<std::string> Expand(std::string_view text, const TemplateValues& values) {
  std::string expanded;
  while (true) {
    const std::size_t begin = text.find("{{");
    expanded += text.substr(0, begin);
    if (begin == std::string_view::npos) return expanded;
    const std::size_t end = text.find("}}", begin);
    if (end == std::string_view::npos) {
      return CorruptError("'" + std::string(text.substr(0, 80)) + "': a template without its end");
    }
    const std::string_view inside = Trimmed(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
    if (const auto found = values.texts.find(inside); found != values.texts.end()) {
      expanded += found->second;
      continue;
    }
    H5ZARR_ASSIGN_OR_RETURN(const int64_t number, Evaluator(inside, values).Evaluate());
    expanded += std::to_string(number);
  }
}

}  // namespace h5zarr
