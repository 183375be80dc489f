import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import sortition.v1.RankingGrpc;
import sortition.v1.RankingGrpc.RankingBlockingStub;
import sortition.v1.RankingOuterClass.Candidates;
import sortition.v1.RankingOuterClass.DecisionContext;
import sortition.v1.RankingOuterClass.DenseFeatures;
import sortition.v1.RankingOuterClass.Feedback;
import sortition.v1.RankingOuterClass.RankRequest;
import sortition.v1.RankingOuterClass.RankResponse;
import sortition.v1.RankingOuterClass.ReportFeedbackRequest;
import sortition.v1.RankingOuterClass.ReportShownRequest;

/**
 * Asks for a ranking, reports what was shown and what came of it, with retries that lose nothing
 * and count nothing twice.
 */
public final class Main {
  // Of a call with its retries. The first call of a process loads classes and connects, too.
  private static final long DEADLINE_MS = 20000;
  private static final int MAX_ATTEMPTS = 10;
  private static final long FIRST_PAUSE_MS = 100;
  private static final long MAX_PAUSE_MS = 2000;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final RankingBlockingStub ranking;

  private Main(RankingBlockingStub ranking) {
    this.ranking = ranking;
  }

  /** Returns a time-ordered UUID, version 7. */
  private static String makeId() {
    final long high = System.currentTimeMillis() << 16 | 0x7000 | RANDOM.nextInt(0x1000);
    final long low = RANDOM.nextLong() & 0x3fffffffffffffffL | 0x8000000000000000L;
    return new UUID(high, low).toString();
  }

  /** Returns the matrix as little-endian floats, row by row. */
  private static ByteString pack(float[][] rows) {
    final ByteBuffer packed =
        ByteBuffer.allocate(4 * rows.length * rows[0].length).order(ByteOrder.LITTLE_ENDIAN);
    for (float[] row : rows) {
      packed.asFloatBuffer().put(row);
      packed.position(packed.position() + 4 * row.length);
    }
    packed.flip();
    return ByteString.copyFrom(packed);
  }

  /**
   * Calls `send` until it succeeds, fails for good, or its time is over.
   *
   * <p>What is UNAVAILABLE is sent again, and what a server CANCELLED as it closed, as it was, ids
   * included: then the answer is the same, and feedback counts once. Another attempt waits until
   * the server is back, rather than fail at once.
   */
  private <Answer> Answer retry(Function<RankingBlockingStub, Answer> send)
      throws InterruptedException {
    final RankingBlockingStub limited =
        ranking.withDeadlineAfter(DEADLINE_MS, TimeUnit.MILLISECONDS);
    StatusRuntimeException away = null;
    long pause = FIRST_PAUSE_MS;
    for (int attempt = 1;; ++attempt) {
      try {
        return send.apply(attempt == 1 ? limited : limited.withWaitForReady());
      } catch (StatusRuntimeException error) {
        final Status.Code code = error.getStatus().getCode();
        // Why the server was away says more than that the deadline passed.
        if (code == Status.Code.DEADLINE_EXCEEDED && away != null) throw away;
        final boolean isAway = code == Status.Code.UNAVAILABLE || code == Status.Code.CANCELLED;
        if (!isAway || attempt == MAX_ATTEMPTS) throw error;
        away = error;
      }
      final long rest = ThreadLocalRandom.current().nextLong(pause);
      if (rest >= limited.getCallOptions().getDeadline().timeRemaining(TimeUnit.MILLISECONDS)) {
        throw away;
      }
      Thread.sleep(rest);
      pause = Math.min(2 * pause, MAX_PAUSE_MS);
    }
  }

  /** Makes one decision and reports back. */
  private void run(float[][] features, List<String> ids) throws InterruptedException {
    final RankRequest request =
        RankRequest.newBuilder()
            .setContext(
                DecisionContext.newBuilder()
                    .setDecisionId(makeId())
                    .setCandidates(
                        Candidates.newBuilder()
                            .setNumFeatures(features[0].length)
                            .setDense(DenseFeatures.newBuilder().setPacked(pack(features)))
                            .addAllIds(ids)))
            .setTopK(2)
            .build();
    final RankResponse answer = retry(stub -> stub.rank(request));
    final String decisionId = answer.getResult().getDecisionId();
    System.out.printf(
        "decision %s, propensity %g: %s%n",
        decisionId,
        Math.exp(answer.getResult().getLogPropensity()),
        String.join(" ", answer.getOrderIdsList()));

    final ReportShownRequest shown =
        ReportShownRequest.newBuilder()
            .setDecisionId(decisionId)
            .addAllShown(answer.getOrderList())
            .build();
    retry(stub -> stub.reportShown(shown));

    // The user clicked at the first rank.
    final ReportFeedbackRequest feedback =
        ReportFeedbackRequest.newBuilder()
            .addFeedback(
                Feedback.newBuilder()
                    .setFeedbackId(makeId())
                    .setDecisionId(decisionId)
                    .setRank(0)
                    .setReward(1))
            .build();
    if (retry(stub -> stub.reportFeedback(feedback)).getAccepted() != 1) {
      throw new IllegalStateException("the feedback was not accepted");
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    final String address = arguments.length > 0 ? arguments[0] : "127.0.0.1:8500";
    // With TLS: useTransportSecurity() in place of usePlaintext().
    final ManagedChannel channel = NettyChannelBuilder.forTarget(address).usePlaintext().build();
    try {
      final float[][] features = {{0.9f, 0.1f}, {0.2f, 0.7f}, {0.4f, 0.4f}};
      new Main(RankingGrpc.newBlockingStub(channel)).run(features, List.of("a", "b", "c"));
    } catch (StatusRuntimeException error) {
      System.err.println(address + ": " + error.getMessage());
      System.exit(1);
    } finally {
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }
}
