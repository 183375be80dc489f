// Asks for a ranking, reports what was shown and what came of it, with retries
// that lose nothing and count nothing twice.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math"
	mathrand "math/rand"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sortition "sortition/v1"
)

const (
	deadline    = 5 * time.Second // Of a call with its retries.
	maxAttempts = 10
	firstPause  = 100 * time.Millisecond
	maxPause    = 2 * time.Second
)

// makeID returns a time-ordered UUID, version 7.
func makeID() string {
	var id [16]byte
	if _, err := rand.Read(id[6:]); err != nil {
		panic(err) // The kernel has no random numbers.
	}
	now := uint64(time.Now().UnixNano() / int64(time.Millisecond))
	binary.BigEndian.PutUint16(id[0:], uint16(now>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(now))
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// pack returns the matrix as little-endian floats, row by row.
func pack(rows [][]float32) []byte {
	packed := make([]byte, 0, 4*len(rows)*len(rows[0]))
	var value [4]byte
	for _, row := range rows {
		for _, feature := range row {
			binary.LittleEndian.PutUint32(value[:], math.Float32bits(feature))
			packed = append(packed, value[:]...)
		}
	}
	return packed
}

// isAway says whether the server was not there, or went.
func isAway(err error) bool {
	return status.Code(err) == codes.Unavailable || status.Code(err) == codes.Canceled
}

// retry calls `send` until it succeeds, fails for good, or its time is over.
//
// What is UNAVAILABLE is sent again, and what a server CANCELLED as it closed, as it
// was, ids included: then the answer is the same, and feedback counts once. Another
// attempt waits until the server is back, rather than fail at once.
func retry(send func(ctx context.Context, options ...grpc.CallOption) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := send(ctx)
	pause := firstPause
	for attempt := 1; attempt < maxAttempts && isAway(err); attempt++ {
		select {
		case <-time.After(time.Duration(mathrand.Int63n(int64(pause)))):
		case <-ctx.Done():
			return err
		}
		if pause *= 2; pause > maxPause {
			pause = maxPause
		}
		again := send(ctx, grpc.WaitForReady(true))
		if status.Code(again) == codes.DeadlineExceeded {
			return err // It says why the server was away.
		}
		err = again
	}
	return err
}

// run makes one decision and reports back.
func run(client sortition.RankingClient, features [][]float32, ids []string) error {
	topK := uint32(2)
	request := &sortition.RankRequest{
		Context: &sortition.DecisionContext{
			DecisionId: makeID(),
			Candidates: &sortition.Candidates{
				NumFeatures: uint32(len(features[0])),
				Features: &sortition.Candidates_Dense{
					Dense: &sortition.DenseFeatures{Packed: pack(features)}},
				Ids: ids,
			},
		},
		TopK: &topK,
	}
	var answer *sortition.RankResponse
	err := retry(func(ctx context.Context, options ...grpc.CallOption) (err error) {
		answer, err = client.Rank(ctx, request, options...)
		return err
	})
	if err != nil {
		return fmt.Errorf("rank: %w", err)
	}
	decisionID := answer.GetResult().GetDecisionId()
	fmt.Printf("decision %s, propensity %g:", decisionID, math.Exp(answer.GetResult().GetLogPropensity()))
	for _, id := range answer.GetOrderIds() {
		fmt.Printf(" %s", id)
	}
	fmt.Println()

	shown := &sortition.ReportShownRequest{DecisionId: decisionID, Shown: answer.GetOrder()}
	err = retry(func(ctx context.Context, options ...grpc.CallOption) error {
		_, err := client.ReportShown(ctx, shown, options...)
		return err
	})
	if err != nil {
		return fmt.Errorf("shown: %w", err)
	}

	// The user clicked at the first rank.
	rank := uint32(0)
	feedback := &sortition.ReportFeedbackRequest{Feedback: []*sortition.Feedback{{
		FeedbackId: makeID(), DecisionId: decisionID, Rank: &rank,
		Value: &sortition.Feedback_Reward{Reward: 1},
	}}}
	err = retry(func(ctx context.Context, options ...grpc.CallOption) error {
		answer, err := client.ReportFeedback(ctx, feedback, options...)
		if err == nil && answer.GetAccepted() != 1 {
			err = errors.New("the feedback was not accepted")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	return nil
}

func main() {
	address := "127.0.0.1:8500"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	mathrand.Seed(time.Now().UnixNano())
	// With TLS: grpc.WithTransportCredentials(credentials.NewClientTLSFromFile(...)).
	connection, err := grpc.Dial(address, grpc.WithInsecure())
	if err != nil {
		log.Fatalf("%s: %v", address, err)
	}
	defer connection.Close()
	features := [][]float32{{0.9, 0.1}, {0.2, 0.7}, {0.4, 0.4}}
	if err := run(sortition.NewRankingClient(connection), features, []string{"a", "b", "c"}); err != nil {
		log.Fatalf("%s: %v", address, err)
	}
}
