// request: reads and writes that H5Dread_async and H5Dwrite_async began, as event sets see them.

#include "h5/request.h"

#include <memory>
#include <utility>

#include "h5/connector.h"

namespace h5zarr {
namespace {

// HDF5 takes a request for one of our objects when it asks for a wrapping context: it has no native
// object and no store.
struct Request : Object {
  JobPtr job;
};

Request* AsRequest(void* opaque) { return static_cast<Request*>(AsObject(opaque)); }

H5VL_request_status_t OutcomeOf(Request* request) {
  return request->job->Wait().ok() ? H5VL_REQUEST_STATUS_SUCCEED : H5VL_REQUEST_STATUS_FAIL;
}

herr_t request_wait(void* opaque, uint64_t timeout_ns, H5VL_request_status_t* status) {
  return host::Guard("request_wait", [&] {
    Request* request = AsRequest(opaque);
    const bool forever = timeout_ns == UINT64_MAX;
    *status = forever || request->job->WaitFor(timeout_ns) ? OutcomeOf(request) : H5VL_REQUEST_STATUS_IN_PROGRESS;
    return OkStatus();
  });
}

herr_t request_notify(void* opaque, H5VL_request_notify_t notify, void* context) {
  return host::Guard("request_notify", [&]() -> Status {
    // HDF5 may be called on this thread only, so the caller learns of it once it is done.
    return NativeStatus(notify(context, OutcomeOf(AsRequest(opaque))));
  });
}

herr_t request_cancel(void* opaque, H5VL_request_status_t* status) {
  return host::Guard("request_cancel", [&] {
    Request* request = AsRequest(opaque);
    *status = request->job->WaitFor(0) ? OutcomeOf(request) : H5VL_REQUEST_STATUS_CANT_CANCEL;
    return OkStatus();
  });
}

herr_t request_specific(void* opaque, H5VL_request_specific_args_t* args) {
  switch (args->op_type) {
    case H5VL_REQUEST_GET_ERR_STACK:
      host::PushStatus(AsRequest(opaque)->job->Wait(), "asynchronous transfer");
      args->args.get_err_stack.err_stack_id = H5Eget_current_stack();
      return args->args.get_err_stack.err_stack_id < 0 ? -1 : 0;
    case H5VL_REQUEST_GET_EXEC_TIME:
      // Not measured.
      *args->args.get_exec_time.exec_ts = 0;
      *args->args.get_exec_time.exec_time = 0;
      return 0;
  }
  return host::Guard("request_specific", [] { return UnsupportedError("an unknown operation of requests"); });
}

herr_t request_optional(void*, H5VL_optional_args_t*) {
  return host::Guard("request_optional", [] { return UnsupportedError("requests have no optional operations"); });
}

herr_t request_free(void* opaque) {
  delete AsRequest(opaque);
  return 0;
}

}  // namespace

void* MakeRequest(JobPtr job) {
  auto request = std::make_unique<Request>();
  request->job = std::move(job);
  return static_cast<Object*>(request.release());
}

const H5VL_request_class_t kRequestClass = {request_wait,     request_notify,   request_cancel,
                                            request_specific, request_optional, request_free};

}  // namespace h5zarr
