"""The Transformer of the released baselines (fairseq's ``transformer_wmt_en_de_big`` and smaller), for whole sentences.

Names of weights are those of fairseq's checkpoints, so that released members load unchanged. Only the exported graphs
decode step by step; here all target tokens are given (teacher forcing).
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.vocabulary import PAD


def positions(count: int, width: int) -> Tensor:
    """Return sinusoidal embeddings [count, width] of positions 0 to count - 1: sines, then cosines, as in fairseq.

    fairseq counts positions from its padding token on: the first position has the number PAD + 1.
    """
    half = width // 2
    rates = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10_000) / (half - 1)))
    angles = (torch.arange(count, dtype=torch.float32) + PAD + 1)[:, None] * rates[None]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


class Attention(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Multi-head attention with a bias on every projection."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q_proj, self.k_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.v_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            nn.init.xavier_uniform_(projection.weight, gain=2**-0.5)
        nn.init.xavier_uniform_(self.out_proj.weight)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Attend from [n, t, width] to [n, s, width]; ``mask`` [n, 1, 1, s] is true for visible memory."""
        q, k, v = (
            projection(of).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for projection, of in ((self.q_proj, x), (self.k_proj, memory), (self.v_proj, memory))
        )
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, dropout_p=self.dropout if self.training else 0.0
        )
        return self.out_proj(attended.transpose(1, 2).flatten(2))


class Layer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Layer of encoder or decoder."""

    def __init__(self, sizes: Sizes, dropout: float, decoder: bool) -> None:
        super().__init__()
        self.norm_first, self.decoder = sizes.norm_first, decoder
        self.self_attn = Attention(sizes.width, sizes.heads, dropout)
        self.self_attn_layer_norm = nn.LayerNorm(sizes.width)
        if decoder:
            self.encoder_attn = Attention(sizes.width, sizes.heads, dropout)
            self.encoder_attn_layer_norm = nn.LayerNorm(sizes.width)
        self.fc1, self.fc2 = nn.Linear(sizes.width, sizes.inner), nn.Linear(sizes.inner, sizes.width)
        for linear in (self.fc1, self.fc2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.final_layer_norm = nn.LayerNorm(sizes.width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, memory: Tensor | None = None) -> Tensor:
        """Apply the layer; ``mask`` covers the source's tokens: the encoder's input, the decoder's memory."""
        own = None if self.decoder else mask
        x = self._block(x, self.self_attn_layer_norm, lambda y: self.self_attn(y, y, own, self.decoder))
        if memory is not None:
            x = self._block(x, self.encoder_attn_layer_norm, lambda y: self.encoder_attn(y, memory, mask, False))
        return self._block(x, self.final_layer_norm, lambda y: self.fc2(F.relu(self.fc1(y))))

    def _block(self, x: Tensor, norm: nn.Module, inside: Callable[[Tensor], Tensor]) -> Tensor:
        if self.norm_first:
            return x + self.drop(inside(norm(x)))
        normed: Tensor = norm(x + self.drop(inside(x)))
        return normed


class Side(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Encoder or decoder: embeddings and layers."""

    def __init__(self, sizes: Sizes, tokens: int, layers: int, dropout: float, decoder: bool) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(tokens, sizes.width, padding_idx=PAD)
        nn.init.normal_(self.embed_tokens.weight, std=sizes.width**-0.5)
        nn.init.zeros_(self.embed_tokens.weight[PAD])
        self.layers = nn.ModuleList(Layer(sizes, dropout, decoder) for _ in range(layers))
        self.layer_norm = nn.LayerNorm(sizes.width) if sizes.norm_first else None
        self.scale = sizes.width**0.5
        self.drop = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor, memory: Tensor | None = None) -> Tensor:
        x = self.embed_tokens(tokens) * self.scale
        x = self.drop(x + positions(tokens.shape[1], x.shape[2]).to(x))
        for layer in self.layers:
            x = layer(x, mask, memory)
        return x if self.layer_norm is None else self.layer_norm(x)


class Transformer(nn.Module):  # type: ignore[misc]  # torch is not followed
    """Transformer from source and target tokens to logits of the next tokens."""

    def __init__(self, sizes: Sizes, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = Side(sizes, sizes.source, sizes.encoder, dropout, decoder=False)
        self.decoder = Side(sizes, sizes.target, sizes.decoder, dropout, decoder=True)
        if sizes.shared:
            self.decoder.embed_tokens = self.encoder.embed_tokens

    def forward(self, source: Tensor, before: Tensor) -> Tensor:
        """Return logits [n, t, V].

        Args:
            source: tokens with their end [n, s], padded at the right with PAD.
            before: target tokens, the end of sentence first [n, t], padded likewise.
        """
        mask = (source != PAD)[:, None, None, :]
        memory = self.encoder(source, mask)
        return F.linear(self.decoder(before, mask, memory), self.decoder.embed_tokens.weight)
