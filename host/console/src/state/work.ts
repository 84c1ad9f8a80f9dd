// Work that the API may refuse: whether it is under way, how far it is, and why it was refused.

import { useState } from "preact/hooks";
import { ApiError, type Progress } from "../api/client";

export interface Work {
  isBusy: boolean;
  error: ApiError | undefined;
  progress: Progress | undefined;
  /** Takes the progress of what is sent. */
  told: (progress: Progress) => void;
  /** Does it; what goes wrong beside the API's refusals is thrown. */
  act: (work: () => Promise<void>, refused?: (error: ApiError) => void) => Promise<void>;
  /** Shows the refusal no longer. */
  forget: () => void;
}

export function useWork(): Work {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const act: Work["act"] = async (work, refused) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (failed) {
      if (!(failed instanceof ApiError)) throw failed;
      setError(failed);
      refused?.(failed);
    } finally {
      setBusy(false);
      setProgress(undefined);
    }
  };
  return { isBusy, error, progress, told: setProgress, act, forget: () => setError(undefined) };
}
