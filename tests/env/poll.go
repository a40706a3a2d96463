// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is how often a condition that nothing announces is looked at.
const pollInterval = 50 * time.Millisecond

// poll looks at a condition until it holds, fails, or ctx is over.
func poll(ctx context.Context, condition func(context.Context) (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, pollInterval, true, condition)
}

// answersOK returns a readiness check that asks url for status 200.
func answersOK(httpClient *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := httpClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s", url, resp.Status)
		}
		return nil
	}
}
