#include "store/read_plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/checked.h"

namespace h5zarr {
namespace {

// Parts a thread, so that threads end at about the same time.
constexpr double kPartsPerThread = 8;

// An op as it is sorted.
struct Slot {
  uint32_t object = 0;
  bool is_span = false;  // kWhole and kSuffix go first
  uint64_t offset = 0;
  std::size_t op = 0;

  bool operator<(const Slot& other) const {
    if (object != other.object) return object < other.object;
    if (is_span != other.is_span) return other.is_span;
    return offset < other.offset;
  }
};

Status CheckRange(const ReadOp& op) {
  if (op.range.kind == ByteRange::Kind::kWhole) return OkStatus();
  const uint64_t offset = op.range.kind == ByteRange::Kind::kSpan ? op.range.offset : 0;
  const std::optional<uint64_t> end = CheckedAdd(offset, op.range.length);
  if (!end || *end > INT64_MAX) {
    return InvalidArgumentError("key '" + op.key + "': a range of " + std::to_string(op.range.length) + " bytes from " +
                                std::to_string(offset) + " reaches beyond any object");
  }
  if (!op.target.empty() && op.target.size() != op.range.length) {
    return InvalidArgumentError("key '" + op.key + "': " + std::to_string(op.range.length) +
                                " bytes do not fit a target of " + std::to_string(op.target.size()));
  }
  return OkStatus();
}

// Numbers the keys in the order of their first appearance, checks the ops and sorts them.
Result<std::vector<Slot>> SortedSlots(std::span<const ReadOp> ops) {
  std::vector<Slot> slots;
  slots.reserve(ops.size());
  std::unordered_map<std::string_view, uint32_t> objects;
  const ReadOp* previous = nullptr;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ReadOp& op = ops[i];
    H5ZARR_RETURN_IF_ERROR(CheckRange(op));
    Slot slot;
    slot.op = i;
    slot.is_span = op.range.kind == ByteRange::Kind::kSpan;
    slot.offset = slot.is_span ? op.range.offset : 0;
    if (previous != nullptr && op.key == previous->key) {
      slot.object = slots.back().object;
    } else {
      H5ZARR_RETURN_IF_ERROR(CheckKey(op.key));
      const auto number = static_cast<uint32_t>(objects.size());
      slot.object = objects.emplace(op.key, number).first->second;
    }
    previous = &op;
    slots.push_back(slot);
  }
  if (!std::is_sorted(slots.begin(), slots.end())) std::sort(slots.begin(), slots.end());
  return slots;
}

class Planner {
 public:
  Planner(std::span<const ReadOp> ops, const ReadPlanLimits& limits) : ops_(ops), limits_(limits) {}

  ReadPlan Plan(std::span<const Slot> slots, Executor& executor) {
    double sinks_ns = 0;
    for (const ReadOp& op : ops_) sinks_ns += op.sink_cost_ns;
    if (sinks_ns >= kSerialBelowNs) {
      const double even_ns = sinks_ns / (kPartsPerThread * executor.threads());
      max_part_sink_ns_ = std::max(limits_.min_part_sink_ns, even_ns);
    }
    plan_.cost_ns = sinks_ns;
    plan_.order.reserve(slots.size());
    for (const Slot& slot : slots) Add(slot);
    if (!plan_.objects.empty()) plan_.objects.back().last_part = plan_.parts.size();
    for (const ReadPart& part : plan_.parts) {
      plan_.cost_ns += limits_.request_cost_ns + limits_.byte_cost_ns * static_cast<double>(part.end - part.begin);
    }
    plan_.cost_ns += limits_.open_cost_ns * static_cast<double>(plan_.objects.size());
    return std::move(plan_);
  }

 private:
  void Add(const Slot& slot) {
    const ReadOp& op = ops_[slot.op];
    if (plan_.objects.size() == slot.object) {
      if (!plan_.objects.empty()) plan_.objects.back().last_part = plan_.parts.size();
      plan_.objects.push_back({plan_.parts.size(), 0});
      joinable_ = false;
    }
    plan_.order.push_back(slot.op);
    const bool alone = !slot.is_span || op.range.length >= limits_.alone_bytes;
    if (!alone && joinable_ && Join(op)) return;
    uint64_t end = 0;
    if (op.range.kind == ByteRange::Kind::kSpan) end = slot.offset + op.range.length;
    if (op.range.kind == ByteRange::Kind::kWhole) end = op.target.size();
    if (!op.target.empty() && end - slot.offset > 2 * limits_.split_bytes) {
      Split(slot, end);
    } else {
      StartPart(slot, slot.offset, end);
    }
    joinable_ = !alone;
    part_sink_ns_ = op.sink_cost_ns;
    part_gap_bytes_ = 0;
  }

  ReadPart& StartPart(const Slot& slot, uint64_t begin, uint64_t end) {
    ReadPart part;
    part.first_op = plan_.order.size() - 1;
    part.last_op = plan_.order.size();
    part.begin = begin;
    part.end = end;
    part.object = slot.object;
    return plan_.parts.emplace_back(part);
  }

  void Split(const Slot& slot, uint64_t end) {
    const auto split = static_cast<uint32_t>(plan_.split_pieces.size());
    std::size_t pieces = 0;
    for (uint64_t begin = slot.offset; begin < end; ++pieces) {
      const uint64_t piece_end = begin + std::min(limits_.split_bytes, end - begin);
      StartPart(slot, begin, piece_end).split = split;
      begin = piece_end;
    }
    plan_.split_pieces.push_back(pieces);
  }

  // Whether `gap_bytes` more may be read along with `part`, which would then have `joint_bytes`.
  bool BridgesGap(uint64_t gap_bytes, uint64_t joint_bytes) {
    if (gap_bytes <= limits_.gap_bytes) return true;
    if (gap_bytes > limits_.wide_gap_bytes || limits_.wide_gap_share == 0) return false;
    return part_gap_bytes_ + gap_bytes <= joint_bytes / limits_.wide_gap_share;
  }

  // Adds `op`, the newest in the order, to the newest part if that pays.
  bool Join(const ReadOp& op) {
    ReadPart& part = plan_.parts.back();
    const uint64_t gap_bytes = op.range.offset > part.end ? op.range.offset - part.end : 0;
    const uint64_t end = std::max(part.end, op.range.offset + op.range.length);
    if (end - part.begin > limits_.max_bytes) return false;
    if (!BridgesGap(gap_bytes, end - part.begin)) return false;
    if (part_sink_ns_ + op.sink_cost_ns > max_part_sink_ns_) return false;
    part_gap_bytes_ += gap_bytes;
    part.end = end;
    part.last_op = plan_.order.size();
    part_sink_ns_ += op.sink_cost_ns;
    return true;
  }

  const std::span<const ReadOp> ops_;
  const ReadPlanLimits& limits_;
  double max_part_sink_ns_ = 1e300;
  ReadPlan plan_;
  bool joinable_ = false;    // the newest part takes more ops
  double part_sink_ns_ = 0;  // of the newest part
  uint64_t part_gap_bytes_ = 0;
};

}  // namespace

Result<ReadPlan> MakeReadPlan(std::span<const ReadOp> ops, const ReadPlanLimits& limits, Executor& executor) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<Slot> slots, SortedSlots(ops));
  return Planner(ops, limits).Plan(slots, executor);
}

Result<ByteRange> LocateRange(const ReadOp& op, uint64_t object_bytes, const std::string& name) {
  const std::string has = name + ": the object has " + std::to_string(object_bytes) + " bytes";
  const ByteRange& range = op.range;
  switch (range.kind) {
    case ByteRange::Kind::kWhole:
      if (!op.target.empty() && op.target.size() != object_bytes) {
        return CorruptError(has + ", expected " + std::to_string(op.target.size()));
      }
      return ByteRange::Span(0, object_bytes);
    case ByteRange::Kind::kSuffix:
      if (range.length > object_bytes) {
        return CorruptError(has + ", expected at least " + std::to_string(range.length));
      }
      return ByteRange::Span(object_bytes - range.length, range.length);
    case ByteRange::Kind::kSpan:
      if (range.offset > object_bytes || range.length > object_bytes - range.offset) {
        return CorruptError(has + ", expected [" + std::to_string(range.offset) + ", " +
                            std::to_string(range.offset + range.length) + ") among them");
      }
      return range;
  }
  return InternalError("unknown kind of byte range");
}

}  // namespace h5zarr
