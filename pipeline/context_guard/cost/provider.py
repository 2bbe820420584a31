"""A model with its provider's rules and price: what the tokens of a request cost."""

from msgspec import Struct

from context_guard.cache.prices import CachePrices, ModelCost, prices_for
from context_guard.transcript import Model, Usage


class Provider(Struct, frozen=True):
    name: str
    model: Model
    input_price: float
    """Dollars for a million tokens of plain input."""
    cost: ModelCost | None = None

    @property
    def prices(self) -> CachePrices:
        return prices_for(self.model, self.cost)

    def dollars(self, usage: Usage) -> float:
        """The input side of one request; what the model writes costs the same with a guard and without."""
        prices = self.prices
        tokens = usage.input + usage.cache_write * prices.write + usage.cache_read * prices.read
        return tokens * self.input_price / 1e6
