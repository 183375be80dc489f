#pragma once
// The requests that a queue's thread has read and not yet decided, and those
// whose answers their callers have not taken.
#include <cstdint>
#include <deque>
#include <list>
#include <optional>

#include "server/admission/admission.h"

namespace sortition {

class QueuedCall {
 public:
  virtual ~QueuedCall() = default;
  // Decides it, or hands it on.
  virtual void TakeUp() = 0;
};

// Belongs to the thread of a queue, which reads calls and decides them in
// turns. Reading one to refuse it costs about half of deciding it, so with
// enough calls a thread could do nothing but refuse. While it has refused for
// more than a share of its time it therefore does not read: calls then stay in
// their connections, where they cost nothing and their deadlines may pass.
class WaitingCalls {
 public:
  // `admission` must outlive it.
  explicit WaitingCalls(Admission* admission);

  // Returns why a call that came with so many seconds until its deadline must
  // be refused, if it must.
  std::optional<Refusal> Check(double seconds_left);
  void Add(QueuedCall* call);
  bool empty() const { return calls_.empty(); }

  // Whether the thread should look for more calls now.
  bool MayRead() const { return calls_.empty() || credit_ > 0; }
  // Lets some of the calls be taken up. `start`: when the thread began to read
  // before that, or to have something to do.
  void Serve(int64_t start);
  // How long the last Serve() took.
  int64_t turn_nanos() const { return turn_nanos_; }
  // The thread had nothing to do until `now`: whatever comes is a burst.
  void NoteIdle(int64_t now) { limit_.NoteCalm(now); }
  // Everything that has come was read. If there is little of it, the server is
  // not overloaded, or no longer.
  void NoteAllRead();
  // The longest that a call may wait now, seconds.
  double LongestSeconds() const;
  // The time that a call that comes now would wait, seconds.
  double EstimateSeconds() const {
    return static_cast<double>(calls_.size()) * seconds_per_call_.value();
  }

 private:
  Admission* const admission_;
  std::deque<QueuedCall*> calls_;
  RecentMean seconds_per_call_;  // To read and to decide one.
  WaitLimit limit_;
  // Since the last Serve().
  int64_t num_checked_ = 0;
  int64_t num_refused_ = 0;
  int64_t turn_nanos_ = 0;  // Of the last Serve().
  double credit_ = 0;       // Nanoseconds that may be spent on refusing.
};

// An answer on its way.
class UnsentAnswer {
 public:
  virtual ~UnsentAnswer() = default;
  // Ends the call, so that the answer is given up.
  virtual void Drop() = 0;

 private:
  friend class UnsentAnswers;
  int64_t since_ = 0;
  bool is_listed_ = false;
  std::list<UnsentAnswer*>::iterator place_;
};

// The answers of one queue that callers have not taken, perhaps because they
// give them no HTTP/2 window. Belongs to the thread of the queue.
class UnsentAnswers {
 public:
  explicit UnsentAnswers(Admission* admission);

  // Drops the oldest where there are too many.
  void Add(UnsentAnswer* answer, int64_t now);
  void Remove(UnsentAnswer* answer);
  bool empty() const { return answers_.empty(); }

  // Drops what is too old.
  void DropStale(int64_t now);
  // When that is next to be done. Requires that there is an answer.
  int64_t NextStale() const { return answers_.front()->since_ + most_nanos_; }
  // From now on answers are too old after `seconds`, if that is less.
  void Hurry(double seconds);

 private:
  void DropFirst();

  Admission* const admission_;
  int64_t most_nanos_;
  std::list<UnsentAnswer*> answers_;  // The oldest is the first.
};

}  // namespace sortition
