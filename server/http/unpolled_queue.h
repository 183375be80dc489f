#pragma once
// Waiting for a call of the in-process channel.
#include <grpcpp/completion_queue.h>

#include <memory>

namespace sortition {

// Returns a queue whose Next() only waits. That of another queue would
// meanwhile do the I/O of all connections of the process, with the priority of
// whoever asks over HTTP.
std::unique_ptr<grpc::CompletionQueue> NewUnpolledQueue();

// Waits for the one operation that the queue has.
void WaitForOne(grpc::CompletionQueue* queue);

}  // namespace sortition
