// From a batch of reads to the parts in which they are done: ops on the same object are sorted,
// near ranges joined into one, and very large ones split so that several threads share them.
//
// Pure values: no I/O here, so that any store with limits of its own can use it.
#ifndef H5ZARR_STORE_READ_PLAN_H_
#define H5ZARR_STORE_READ_PLAN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

struct ReadPlanLimits {
  uint64_t gap_bytes = 0;       // ranges at most this far apart are joined…
  uint64_t wide_gap_bytes = 0;  // …or this far, where all gaps together are at most one of
  uint64_t wide_gap_share = 0;  // so many parts of the joint range (0: never)…
  uint64_t max_bytes = 0;       // …while the joint range is at most this…
  uint64_t alone_bytes = 0;     // …and each is smaller than this: larger ones gain nothing
  uint64_t split_bytes = 0;     // pieces of larger ranges that have a target
  // Parts whose sinks cost less are not made smaller to give more threads work.
  double min_part_sink_ns = 50'000;
  double open_cost_ns = 0;     // estimates: of opening an object,
  double request_cost_ns = 0;  // of one request,
  double byte_cost_ns = 0;     // and of each byte
};

// One request. Its ops are ReadPlan::order[first_op, last_op).
struct ReadPart {
  std::size_t first_op = 0;
  std::size_t last_op = 0;
  // The joint range. Empty where it follows from the object's size: for kWhole without a target and
  // for kSuffix, which are alone in their parts.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t object = 0;  // which of ReadPlan::objects
  // Which of ReadPlan::split_pieces: then this is a piece of one op that is alone in its parts, and
  // is delivered when all of them are there.
  std::optional<uint32_t> split;
};

struct ReadPlan {
  // One key of the batch: its parts are consecutive.
  struct Object {
    std::size_t first_part = 0;
    std::size_t last_part = 0;
  };
  std::vector<std::size_t> order;  // indexes into the batch
  std::vector<ReadPart> parts;
  std::vector<Object> objects;
  std::vector<std::size_t> split_pieces;  // of each split op, how many parts it has
  double cost_ns = 0;                     // estimate for all, sinks included
};

// Checks every op (key, range, size of target: kInvalidArgument) and plans the batch. Objects keep
// the order in which the batch first names them. A part is not made so large that its sinks would
// keep one of the `executor`'s threads busy while others wait.
Result<ReadPlan> MakeReadPlan(std::span<const ReadOp> ops, const ReadPlanLimits& limits, Executor& executor);

// The bytes that `op` means of an object of `object_bytes` bytes, as a kSpan. kCorrupt, naming the object
// `name`, where it has no such bytes, or not as many as the op's target.
Result<ByteRange> LocateRange(const ReadOp& op, uint64_t object_bytes, const std::string& name);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_READ_PLAN_H_
