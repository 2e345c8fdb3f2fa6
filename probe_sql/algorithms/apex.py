"""`apex`: the Laplace mechanism with a tolerance region on both sides of the threshold."""

from __future__ import annotations

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import guarantees
from probe_sql.algorithms.naive import Naive, share_of
from probe_sql.measuring import Guarantee


class Apex(Naive):
    """As `naive`, but the threshold stays where it is.

    Utility: an atom whose sum is above t + u or at most t - u is misjudged with
    probability at most beta_i, so a group all of whose atoms lie outside their regions is
    misjudged with probability at most beta. Inside a region nothing is bounded.
    Paper: section 3.2, the mechanism of APEx.
    """

    name = "apex"
    _shift = False

    def _promise(self, accuracy: Accuracy, capped: bool) -> Guarantee:
        return guarantees.tolerant(accuracy.fnr, share_of(accuracy), capped)
