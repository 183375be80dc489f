#include "server/http/unpolled_queue.h"

#include <grpc/grpc.h>

namespace sortition {

std::unique_ptr<grpc::CompletionQueue> NewUnpolledQueue() {
  grpc_completion_queue_attributes attributes = {};
  attributes.version = GRPC_CQ_CURRENT_VERSION;
  attributes.cq_completion_type = GRPC_CQ_NEXT;
  attributes.cq_polling_type = GRPC_CQ_NON_POLLING;
  return std::make_unique<grpc::CompletionQueue>(grpc_completion_queue_create(
      grpc_completion_queue_factory_lookup(&attributes), &attributes, nullptr));
}

void WaitForOne(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  queue->Next(&tag, &ok);
}

}  // namespace sortition
