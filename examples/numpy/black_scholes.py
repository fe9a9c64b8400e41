"""Prices of options and their Greeks: the derivatives of the Black-Scholes formula,
by tapes and by the closed forms.

The formula is NumPy and scipy.special.ndtr. Options at several strikes are priced at once; the
price of each depends on its own entries of the arguments alone, so the gradient of all prices
together holds the Greeks of each option.
"""

import numpy as np
from scipy.special import ndtr

import gradtape as tf


def call_price(spot, strike, volatility, time, rate):
    """Of the right to buy at the strike when `time` is over."""
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / deviation
    return spot * ndtr(d1) - strike * np.exp(-rate * time) * ndtr(d1 - deviation)


def greeks_by_tapes(spot, strike, volatility, time, rate):
    """The Greeks by name.

    Theta counts the time that passes, so it has the other sign; gamma needs a tape around the tape.
    """
    spot, volatility, time, rate = sources = [
        tf.constant(value) for value in (spot, volatility, time, rate)
    ]
    with tf.GradientTape() as outer:
        outer.watch(spot)
        with tf.GradientTape() as inner:
            inner.watch(sources)
            price = call_price(spot, strike, volatility, time, rate)
        delta, vega, by_time, rho = inner.gradient(price, sources)
    gamma = outer.gradient(delta, spot)
    greeks = {"delta": delta, "gamma": gamma, "vega": vega, "theta": -by_time, "rho": rho}
    return {name: greek.numpy() for name, greek in greeks.items()}


def greeks_in_closed_form(spot, strike, volatility, time, rate):
    deviation = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / deviation
    density = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    at_strike = strike * np.exp(-rate * time) * ndtr(d1 - deviation)
    return {
        "delta": ndtr(d1),
        "gamma": density / (spot * deviation),
        "vega": spot * density * np.sqrt(time),
        "theta": -spot * density * volatility / (2 * np.sqrt(time)) - rate * at_strike,
        "rho": time * at_strike,
    }


def main():
    strike = np.array([80.0, 90.0, 100.0, 110.0, 120.0])
    spot, volatility, time, rate = (
        np.full_like(strike, value) for value in (100.0, 0.25, 0.5, 0.03)
    )
    option = spot, strike, volatility, time, rate

    by_tapes, in_closed_form = greeks_by_tapes(*option), greeks_in_closed_form(*option)
    rows = {"strike": strike, "price": call_price(*option)} | by_tapes
    for name, values in rows.items():
        print(f"{name:<7}", *(f"{value:9.4f}" for value in values))
    apart = max(np.max(np.abs(by_tapes[name] - in_closed_form[name])) for name in by_tapes)
    print(f"largest difference from the closed forms: {apart:.0e}")


if __name__ == "__main__":
    main()
