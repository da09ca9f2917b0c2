// Reads and writes that go on while the program does something else.
#include <algorithm>
#include <utility>
#include <vector>

#include "zarr/array_impl.h"

namespace h5zarr::zarr {

Status Array::Impl::CheckWritable() const {
  if (!options.read_only) return OkStatus();
  return PermissionDeniedError("array '" + path + "' is open for reading only");
}

void Array::Impl::WaitForJobs() {
  for (const Pending& pending : jobs) {
    const Status status = pending.job->Wait();
    if (pending.report && unreported.ok()) unreported = status;
  }
  jobs.clear();
}

Status Array::Impl::Settle() {
  if (!jobs.empty()) WaitForJobs();
  return std::exchange(unreported, OkStatus());
}

bool Array::Impl::HasJobs() {
  // They are done in their order.
  while (!jobs.empty() && jobs.front().job->WaitFor(0)) {
    if (jobs.front().report && unreported.ok()) unreported = jobs.front().job->Wait();
    jobs.pop_front();
  }
  return !jobs.empty();
}

// Everything that needs the calling thread, or can be refused at once.
Status Array::Impl::BeginLater(bool write) {
  if (options.background == nullptr || is_vlen()) {
    return InternalError("array '" + path + "' cannot be used in the background");
  }
  if (!write) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(CheckWritable());
  (void)HasJobs();
  H5ZARR_RETURN_IF_ERROR(std::exchange(unreported, OkStatus()));
  return BeforeWrite();
}

void Array::WaitForRequests() {
  const auto& jobs = impl_->jobs;
  const auto last =
      std::find_if(jobs.rbegin(), jobs.rend(), [](const Impl::Pending& pending) { return !pending.report; });
  if (last != jobs.rend()) (void)last->job->Wait();
}

Result<JobPtr> Array::ReadLater(std::vector<ReadRequest> requests, std::shared_ptr<const void> keep) {
  for (const ReadRequest& request : requests) {
    H5ZARR_RETURN_IF_ERROR(request.array->impl_->BeginLater(/*write=*/false));
  }
  const std::vector<ReadRequest> copy = requests;
  Background* const background = requests.at(0).array->impl_->options.background;
  JobPtr job = background->Submit(0, [requests = std::move(requests), keep = std::move(keep)]() mutable {
    return Guarded([&] { return Impl::Read(requests); });
  });
  for (const ReadRequest& request : copy) request.array->impl_->jobs.push_back({job, false});
  return job;
}

Result<JobPtr> Array::WriteLater(std::vector<WriteRequest> requests, std::shared_ptr<const void> keep,
                                 uint64_t held_bytes, Report report) {
  for (const WriteRequest& request : requests) {
    H5ZARR_RETURN_IF_ERROR(request.array->impl_->BeginLater(/*write=*/true));
  }
  const std::vector<WriteRequest> copy = requests;
  Background* const background = requests.at(0).array->impl_->options.background;
  JobPtr job = background->Submit(held_bytes, [requests = std::move(requests), keep = std::move(keep)] {
    return Impl::Write(std::span<const WriteRequest>(requests));
  });
  for (const WriteRequest& request : copy) {
    request.array->impl_->jobs.push_back({job, report == Report::kNextCall});
  }
  return job;
}

}  // namespace h5zarr::zarr
